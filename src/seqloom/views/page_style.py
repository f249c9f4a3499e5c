"""How a page looks, and the one script it has: tooltips that come at once, also under a finger."""

STYLE = """
*{box-sizing:border-box}
html{font:17px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;font-variant-numeric:tabular-nums;
color:var(--ink);background:var(--paper);-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{max-width:60rem;margin:0 auto;padding:3.5rem 1.5rem 6rem}
h1{font-size:2.1rem;line-height:1.15;font-weight:600;letter-spacing:-.02em;margin:0 0 .5rem;overflow-wrap:anywhere}
h2{font-size:1.2rem;font-weight:600;letter-spacing:-.01em;margin:0 0 1.25rem}
p{max-width:42rem;margin:0 0 1rem}
.lead{max-width:none;color:var(--muted);font-size:1.05rem;margin:0}
.status{max-width:none;margin:1.1rem 0 0;padding-left:1.3rem;position:relative}
.status::before{content:"";position:absolute;left:0;top:.5em;width:.6rem;height:.6rem;border-radius:50%;
background:var(--c3)}
.status.warning::before{background:var(--warn)} .status.open::before{background:none;border:2px solid var(--warn)}
nav{display:flex;flex-wrap:wrap;gap:.3rem 1.3rem;margin-top:1.6rem;font-size:.85rem}
a{color:var(--c1);text-decoration:none} a:hover{text-decoration:underline}
section{margin-top:2.6rem;padding-top:2.2rem;border-top:1px solid var(--rule)}
figure{margin:0 0 1.8rem;min-width:0}
figcaption{margin-bottom:.7rem;font-size:.9rem;line-height:1.4}
figcaption b{font-weight:600;margin-right:.6em} figcaption span{color:var(--muted)}
.row{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:.6rem 2.4rem;
align-items:start}
.narrow{display:none} .scroll{overflow-x:auto}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(9.5rem,1fr));gap:1.4rem 1.5rem;margin:0 0 2rem}
.facts dt{font-size:.82rem;color:var(--muted)} .facts dd{margin:0;font-size:1.7rem;line-height:1.25;font-weight:300;
letter-spacing:-.01em} .facts span{font-size:.82rem;color:var(--muted)}
table{border-collapse:collapse;font-size:.88rem;line-height:1.4}
th{font-weight:400;color:var(--muted);text-align:left;white-space:nowrap}
th,td{padding:.34rem 1.6rem .34rem 0;border-bottom:1px solid var(--rule);vertical-align:top}
th:last-child,td:last-child{padding-right:0} .number{text-align:right}
td{overflow-wrap:anywhere} td.number{white-space:nowrap} tbody tr:last-child td{border-bottom:0}
pre{margin:0;padding:.9rem 1.1rem;overflow:auto;max-height:26rem;border-radius:6px;font-size:.82rem;line-height:1.5;
background:color-mix(in srgb,var(--ink) 4.5%,transparent);white-space:pre-wrap;overflow-wrap:anywhere;
unicode-bidi:isolate}
p code{font-size:.85em;padding:.1em .35em;border-radius:4px;background:color-mix(in srgb,var(--ink) 6%,transparent);
overflow-wrap:anywhere}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
blockquote{margin:0 0 1.1rem;padding:.1rem 0 .1rem 1.1rem;border-left:2px solid var(--rule)}
blockquote p{margin:0 0 .2rem;max-width:none;overflow-wrap:anywhere;white-space:pre-line;unicode-bidi:isolate}
blockquote footer{font-size:.85rem;color:var(--muted);overflow-wrap:anywhere}
.compared{display:flex;gap:1.1rem;align-items:flex-start} .compared img{width:6rem;border-radius:4px;flex:none}
.compared dl{display:grid;grid-template-columns:auto 1fr;gap:.1rem 1.1rem;margin:0 0 .2rem}
.compared dt{color:var(--muted);font-size:.85rem;line-height:1.85} .compared dd{margin:0;overflow-wrap:anywhere;
white-space:pre-line;unicode-bidi:isolate}
ruby{ruby-position:under;margin-right:.15em;white-space:nowrap;overflow-wrap:normal}
rt{font-size:.62em;color:var(--muted);padding:0 .2em}
ruby.wrong{color:var(--warn);font-weight:600} ruby.wrong rt{color:var(--warn);font-weight:400}
mark{background:none;color:var(--warn);font-weight:600}
details{margin:0 0 1.2rem} summary{cursor:pointer;color:var(--muted);font-size:.92rem;margin-bottom:.9rem}
summary:hover{color:var(--ink)}
:focus-visible{outline:2px solid var(--c1);outline-offset:2px}
.tip{position:fixed;z-index:9;pointer-events:none;white-space:pre-line;font-size:.8rem;line-height:1.4;
padding:.35rem .6rem;border-radius:5px;background:var(--ink);color:var(--paper);max-width:20rem}
@media (max-width:44rem){html{font-size:16px} body{padding:1.8rem 1.1rem 4rem} h1{font-size:1.6rem}
.wide{display:none} .narrow{display:block} .figure{font-size:13px} .facts dd{font-size:1.4rem}
.facts{grid-template-columns:repeat(auto-fill,minmax(7.5rem,1fr))}
section{margin-top:1.8rem;padding-top:1.6rem} th,td{padding-right:1.1rem}}
@media print{body{max-width:none;padding:0} nav{display:none} section,figure{break-inside:avoid} pre{max-height:none}}
"""

SCRIPT = """
(() => {
  const tip = document.body.appendChild(document.createElement("div"));
  tip.className = "tip"; tip.hidden = true;
  for (const title of document.querySelectorAll("svg title")) {
    if (title.parentNode.tagName !== "svg") title.parentNode.dataset.tip = title.textContent;
    title.remove();
  }
  const show = event => {
    const over = event.target.closest && event.target.closest("[data-tip]");
    tip.hidden = !over;
    if (!over) return;
    tip.textContent = over.dataset.tip;
    const x = event.clientX + 14, y = event.clientY + 14;
    tip.style.left = Math.max(4, Math.min(x, innerWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = (y + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 8 : y) + "px";
  };
  for (const kind of ["pointermove", "pointerdown"]) document.addEventListener(kind, show);
  document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
})();
"""
