(()=>{"use strict";
const all=(selector,from=document)=>[...from.querySelectorAll(selector)];
const make=(name,text,label)=>{const e=document.createElement(name);if(text)e.textContent=text;if(label)e.setAttribute("aria-label",label);return e};
const button=(text,label,act)=>{const b=make("button",text,label);b.type="button";b.addEventListener("click",act);return b};
const save=(name,type,text)=>{const a=make("a");a.download=name;a.href=URL.createObjectURL(new Blob([text],{type}));a.click();setTimeout(()=>URL.revokeObjectURL(a.href),9000)};
const study=document.title.replace(/[^\w.-]+/g,"-");
const text=cell=>cell.textContent.trim();
// No formula to a spreadsheet, as exported files have it; a figure with its sign and unit is none.
const plain=t=>/^'*[=+\-@＝＋－＠]/.test(t)&&!/^[+-]([\d.][^=@|!(&]*)?$/.test(t)?"'"+t:t;
const quoted=t=>/[",\n]/.test(t)?'"'+t.replace(/"/g,'""')+'"':t;

// A table as comma-separated values, sorted by a click on a head.
all("table").forEach((table,n)=>{
  const scroll=table.closest(".scroll")||table;
  scroll.before(button("CSV","Save this table as CSV",()=>save(study+"-table-"+(n+1)+".csv","text/csv",
    [...table.rows].filter(r=>!r.hidden).map(r=>[...r.cells].map(c=>quoted(plain(text(c)))).join(",")).join("\n")+"\n")));
  const heads=[...table.tHead?.rows[0]?.cells||[]];
  heads.forEach((head,column)=>{
    if(!text(head))return;
    const sort=()=>{
      const up=head.getAttribute("aria-sort")==="descending";
      heads.forEach(h=>h.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort",up?"ascending":"descending");
      const value=row=>text(row.cells[column]||head);
      const number=t=>{const m=t.replace(/^[−-]/,"-").match(/^[-+]?\d[\d.]*(e[-+]?\d+)?/);return m?parseFloat(m[0]):NaN};
      const order=(a,b)=>{const[x,y]=[number(value(a)),number(value(b))];
        const by=isNaN(x)||isNaN(y)?value(a).localeCompare(value(b),undefined,{numeric:true}):x-y;return up?by:-by};
      [...table.tBodies].forEach(body=>[...body.rows].sort(order).forEach(row=>body.append(row)));
    };
    head.tabIndex=0;head.classList.add("sorts");head.title="Sort by "+text(head);
    head.addEventListener("click",sort);
    head.addEventListener("keydown",e=>{if(e.key==="Enter"||e.key===" "){e.preventDefault();sort()}});
  });
});

// A table that is wider than a small screen becomes one block per row, with the head of its column above each cell.
const framed=all(".scroll>table").filter(table=>table.tHead);
framed.forEach(table=>[...table.tBodies].flatMap(body=>[...body.rows]).forEach(row=>[...row.cells].forEach(cell=>{
  const head=table.tHead.rows[0].cells[cell.cellIndex];
  if(head&&cell.colSpan===1&&cell.scope!=="row")cell.dataset.label=[...head.childNodes].map(text).join(" ").trim();
})));
const fit=()=>{
  framed.forEach(table=>table.classList.remove("blocks"));
  if(matchMedia("(max-width:900px)").matches)
    framed.filter(({parentElement:at})=>at.scrollWidth>at.clientWidth+1).forEach(table=>table.classList.add("blocks"));
};
fit();addEventListener("resize",fit);addEventListener("toggle",fit,true);

// A chart as a picture of its own, with the page's colours of this moment.
all("svg[role=img]").forEach((svg,n)=>{
  const place=svg.closest(".scroll")||svg;
  if(svg.classList.contains("slim"))return;
  const name=study+"-chart-"+(n+1),box=svg.viewBox.baseVal;
  const drawn=()=>{
    const copy=svg.cloneNode(true),style=document.createElementNS(svg.namespaceURI,"style");
    style.textContent=all("style").map(s=>s.textContent).join("");
    const used=e=>e.getAttribute("href");
    all("use",copy).forEach(e=>copy.querySelector(used(e))||copy.prepend(document.querySelector(used(e)).cloneNode(true)));
    copy.prepend(style);copy.setAttribute("width",box.width);copy.setAttribute("height",box.height);
    return new XMLSerializer().serializeToString(copy);
  };
  place.before(button("SVG","Save this chart as SVG",()=>save(name+".svg","image/svg+xml",drawn())));
  place.before(button("PNG","Save this chart as PNG",()=>{
    const image=Object.assign(new Image(),{onload:()=>{
      const canvas=make("canvas");canvas.width=2*box.width;canvas.height=2*box.height;
      const to=canvas.getContext("2d");to.fillStyle=getComputedStyle(document.body).backgroundColor;
      to.fillRect(0,0,canvas.width,canvas.height);to.drawImage(image,0,0,canvas.width,canvas.height);
      const a=make("a");a.download=name+".png";a.href=canvas.toDataURL("image/png");a.click();
    },src:"data:image/svg+xml;charset=utf-8,"+encodeURIComponent(drawn())});
  }));
});

// Conditions by words of their names and by the level of each factor.
const marked=all("[data-c]"),names=[...new Set(marked.map(e=>e.dataset.c))];
if(names.length>3){
  const known=new Map(Object.entries(JSON.parse(document.querySelector("main").dataset.levels||"{}")));
  const factors=new Map(),levels=new Map(names.map(name=>[name,new Map(known.get(name)||[])]));
  levels.forEach(own=>own.forEach((level,f)=>{if(!factors.has(f))factors.set(f,new Set());factors.get(f).add(level)}));
  const bar=make("form",null,"Filter conditions"),box=make("input",null,"Words of a condition's name"),said=make("output");
  bar.className="filter";box.type="search";box.placeholder="filter conditions";bar.append(box);
  const selects=[...factors].filter(([,l])=>l.size>1).map(([factor,levels])=>{
    const label=make("label",factor+" "),select=make("select");select.name=factor;select.append(new Option("all",""));
    [...levels].forEach(level=>select.append(new Option(level,level)));label.append(select);bar.append(label);return select});
  bar.append(said);
  const apply=()=>{
    const words=box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kept=new Set(names.filter(name=>words.every(w=>name.toLowerCase().includes(w))&&
      selects.every(s=>!s.value||levels.get(name).get(s.name)===s.value)));
    marked.forEach(e=>{const off=!kept.has(e.dataset.c);if(e.namespaceURI.endsWith("svg"))e.style.display=off?"none":"";else e.hidden=off});
    all("svg[data-row]").forEach(svg=>{
      const step=Number(svg.dataset.row),rows=all("g.row",svg);let gone=0;
      rows.forEach(row=>{if(row.style.display==="none")gone++;else row.setAttribute("transform","translate(0,"+-gone*step+")")});
      all("g.foot",svg).forEach(foot=>foot.setAttribute("transform","translate(0,"+-gone*step+")"));
      const view=svg.viewBox.baseVal;if(!svg.dataset.h)svg.dataset.h=view.height;
      svg.setAttribute("viewBox","0 0 "+view.width+" "+(svg.dataset.h-gone*step));
    });
    said.textContent=kept.size<names.length?kept.size+" of "+names.length+" conditions":"";
  };
  bar.addEventListener("input",apply);bar.addEventListener("submit",e=>e.preventDefault());
  document.querySelector("main").prepend(bar);
}
// Paper has no folds, and not what fills them by the page.
addEventListener("beforeprint",()=>all("details:not([open])").filter(d=>!d.closest(".screen-only")).forEach(d=>{d.open=true;d.dataset.was="closed"}));
addEventListener("afterprint",()=>all("details[data-was]").forEach(d=>{d.open=false;delete d.dataset.was}));
})();
