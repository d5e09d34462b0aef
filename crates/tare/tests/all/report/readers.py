"""Reads exports of tare with programs that others wrote, and compares what they read with the records.

usage: python readers.py same|records|openmetrics|junit|svg FILE...
"""
import csv
import json
import math
import sys


def equal(found, expected, where):
    """Equal; numbers that went through JSON to the last bit, which its reader may round the other way."""
    if isinstance(expected, float) and isinstance(found, (int, float)):
        assert abs(found - expected) <= 2 * math.ulp(expected), (where, found, expected)
    else:
        assert found == expected, (where, found, expected)


def typed(text, value):
    """A cell of a CSV file as the type that the Parquet file has for it."""
    if text == "":
        return None
    if isinstance(value, bool):
        return {"true": True, "false": False}[text]
    if isinstance(value, int):
        return int(text)
    return float(text) if isinstance(value, float) else text


def same(*files):
    """Each CSV file holds the same as the Parquet file after it, by Python's reader, pyarrow and duckdb."""
    assert files
    for csv_file, parquet_file in zip(files[::2], files[1::2]):
        same_rows(csv_file, parquet_file)


def same_rows(csv_file, parquet_file):
    import duckdb
    import pyarrow.parquet

    rows = pyarrow.parquet.read_table(parquet_file).to_pylist()
    relation = duckdb.read_parquet(parquet_file)
    again = [dict(zip(relation.columns, row)) for row in relation.fetchall()]
    assert rows == again, "pyarrow and duckdb differ"
    with open(csv_file, newline="") as file:
        lines = list(csv.DictReader(file))
    assert rows and len(lines) == len(rows), (len(lines), len(rows))
    assert list(lines[0]) == list(rows[0]), (list(lines[0]), list(rows[0]))
    for number, (line, row) in enumerate(zip(lines, rows)):
        for column, value in row.items():
            assert typed(line[column], value) == value, (number, column)
    duckdb.sql(f"select count(*) from read_csv('{csv_file}')").fetchall()


def records(trials_file, samples_file, attempts_file, threads_file, covariates_file):
    """The tables hold every value of trials.jsonl, unrounded."""
    import pyarrow.parquet

    rows = lambda file: pyarrow.parquet.read_table(file).to_pylist()
    trials = [json.loads(line) for line in open(trials_file)]
    name = lambda row: (row["trial"], row["attempt"], row["sample"])
    samples = {name(row) + (row["metric"],): row["value"] for row in rows(samples_file)}
    covariates = {name(row) + (row["covariate"],): row["value"] for row in rows(covariates_file)}
    threads = {name(row) + (row["tid"],): row for row in rows(threads_file)}
    attempts = {(row["trial"], row["attempt"]): row for row in rows(attempts_file)}
    assert len(attempts) == len(trials)
    count = [0, 0, 0]
    for trial in trials:
        attempt = attempts[trial["trial"], trial["attempt"]]
        equal(attempt["reason"], trial["reason"], "reason")
        equal(attempt["outcome"], trial["outcome"], "outcome")
        equal(attempt["factor_placement"], trial["levels"]["placement"], "level")
        assert attempt["analysed"] == (trial["outcome"] == "ok"), attempt
        for sample in trial["samples"]:
            at = (trial["trial"], trial["attempt"], sample["sample"])
            for metric, value in sample["metrics"].items():
                equal(samples[at + (metric,)], value, at + (metric,))
                count[0] += 1
            for covariate, value in sample["covariates"].items():
                equal(covariates[at + (covariate,)], value, at + (covariate,))
                count[1] += 1
            for thread in sample["threads"]:
                row = threads[at + (thread["tid"],)]
                for key in ["pair", "name", "allowed_cpus", "migrations", "voluntary_switches", "user_s", "system_s"]:
                    equal(row[key], thread[key], at + (key,))
                seen = " ".join(f"{cpu}:{n}" for cpu, n in sorted(thread["seen_cpus"].items(), key=lambda s: int(s[0])))
                equal(row["seen_cpus"], seen, at)
                count[2] += 1
    assert count == [len(samples), len(covariates), len(threads)], (count, "rows that no record has")


def openmetrics(metrics_file, summary_file):
    """prometheus-client's parser reads the means and intervals of `tare show --json`."""
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    found = {}
    for family in text_string_to_metric_families(open(metrics_file).read()):
        assert family.type == "gauge", family
        for sample in family.samples:
            labels = sample.labels
            found[sample.name, labels["condition"], labels.get("stat") or labels["state"]] = sample.value
            assert labels["condition"] == "placement=" + labels["factor_placement"], labels
    for condition in json.load(open(summary_file))["conditions"]:
        equal(found["tare_trials", condition["name"], "failed"], float(condition["failed_trials"]), "failed")
        for metric in condition["metrics"]:
            for stat in ["mean"] if metric["modes"] else ["mean", "ci_low", "ci_high"]:
                equal(found["tare_" + metric["name"], condition["name"], stat], float(metric[stat]), metric["name"])


def junit(xml_file, trials_file):
    """junitparser counts the attempts, and finds failures with their reasons."""
    from junitparser import Failure, JUnitXml, Skipped

    trials = {(t["condition"], t["trial"], t["attempt"]): t for t in map(json.loads, open(trials_file))}
    seen = 0
    for suite in JUnitXml.fromfile(xml_file):
        stated = (suite.tests, suite.failures, suite.skipped)
        suite.update_statistics()
        assert stated == (suite.tests, suite.failures, suite.skipped), (suite.name, stated)
        for case in suite:
            words = case.name.split()
            trial = trials[suite.name.split(" ", 1)[1], int(words[1]), int(words[3])]
            equal(round(case.time, 3), round(trial["elapsed_s"], 3), case.name)
            kinds = [type(result) for result in case.result]
            assert kinds == {"ok": [], "failed": [Failure], "disturbed": [Skipped]}[trial["outcome"]], case.name
            if kinds:
                equal(case.result[0].message, trial["reason"], case.name)
            seen += 1
    assert seen == len(trials), (seen, len(trials))


def schema(folder, results):
    """Files of a results directory keep to the published schemas, and the schemas are schemas."""
    import os
    from jsonschema import Draft202012Validator

    def check(name, documents):
        published = json.load(open(os.path.join(folder, name + ".json")))
        Draft202012Validator.check_schema(published)
        for document in documents:
            Draft202012Validator(published).validate(document)
            unknown = set(document) - set(published["properties"])
            assert not unknown, (name, unknown, "a field that the published schema does not have")

    read = lambda name: open(os.path.join(results, name))
    trials = [json.loads(line) for line in read("trials.jsonl")]
    assert trials and any(trial["samples"] for trial in trials)
    check("trial", trials)
    check("plan", [json.load(read("plan.json"))])
    check("environment", [json.load(read("environment.json"))])


def svg(file):
    """Python's XML reader finds a picture with a mark a trial."""
    from xml.etree import ElementTree

    top = ElementTree.parse(file).getroot()
    assert top.tag == "{http://www.w3.org/2000/svg}svg", top.tag
    marks = [e for e in top.iter() if "trial" in (e.get("class") or "").split()]
    assert len(marks) == 30, len(marks)
    assert "latency_ms_p99" in "".join(top.itertext())


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
