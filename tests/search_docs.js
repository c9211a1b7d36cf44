// Results of the search of built pages: node search_docs.js HTML_FOLDER < queries > results, in JSON.
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const folder = process.argv[2];
const element = () => ({ childNodes: [], firstChild: null, dataset: {}, appendChild: element });
const document = {
  documentElement: { dataset: { content_root: "" } },
  addEventListener: () => {},
  getElementById: element,
  querySelector: element,
  querySelectorAll: () => [],
  createElement: element,
  readyState: "loading",
  body: element(),
};
const context = vm.createContext({ document, console, localStorage: { setItem: () => {} }, URLSearchParams });
context.window = context;
const run = (name) => {
  const text = fs.readFileSync(path.join(folder, name), "utf8");
  vm.runInContext(text.replace(/^const Search = /m, "var Search = "), context);
};
for (const name of ["documentation_options", "doctools", "sphinx_highlight", "base-stemmer", "english-stemmer"])
  run(`_static/${name}.js`);
run("_static/language_data.js");
run("_static/searchtools.js");
run("searchindex.js");
const queries = JSON.parse(fs.readFileSync(0, "utf8"));
const found = queries.map((query) => {
  const parsed = context.Search._parseQuery(query);
  // The best results are at the end.
  const results = context.Search._performSearch(...parsed).reverse();
  const pages = results.map((result) => result[0]);
  return [...new Set(pages)];
});
console.log(JSON.stringify(found));
