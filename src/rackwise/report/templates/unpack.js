"use strict";
// What the page holds compressed.
const canUnpack = "DecompressionStream" in window;

async function unpacked(element) {
  const bytes = Uint8Array.from(atob(element.textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}

// The elements of markup that the templates of the page wrote; the policy forbids scripts in it.
function elements(markup, wrapper) {
  const template = document.createElement("template");
  template.innerHTML = wrapper ? `<table><tbody>${markup}</tbody></table>` : markup;
  return [...(wrapper ? template.content.querySelectorAll("tr") : template.content.children)];
}

const packed = canUnpack
  ? unpacked(document.getElementById("packed")).then(JSON.parse)
  : Promise.resolve({ rows: {}, clusters: {} });
