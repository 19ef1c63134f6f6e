/**
 * Holds the tree to the rules of the design: which way imports go, what is pure, no cycles, no
 * `any`, no unused export. No rule counts lines or files.
 */
import t from "tap";
import { cycles } from "./tidy/cycles.js";
import { openPatterns } from "./tidy/open-patterns.js";
import { programs, readSources, type SourceFile, withoutTexts } from "./tidy/source-tree.js";
import { spreadCalls } from "./tidy/spread-calls.js";

const columnsMax = 100;

/**
 * The folders that decide and don't act: no Node, no packages, no clock, timer or chance; nor do
 * they import a file that has any of these. Values and ports are passed in.
 */
const pureFolders = [
  "limiterd/budgets",
  "limiterd/cluster",
  "limiterd/counters",
  "limiterd/handlers",
  "limiterd/keys",
  "limiterd/lifecycle",
  "limiterd/lists",
  "limiterd/objects",
  "limiterd/rules",
  "limiterd/shares",
  "limiterd/store",
  "limiterd/upstream",
  "limiterd/usage",
  "proxy/body",
  "proxy/dialects",
  "proxy/handlers",
  "proxy/hard-caps",
  "proxy/limiter",
  "proxy/metrics",
  "proxy/objects",
  "proxy/prices",
  "proxy/routing",
  "proxy/upstream/errors",
  "proxy/usage",
  "shared/access",
  "shared/api",
  "shared/domain",
  "shared/text",
  "shared/usage",
  "bin/reconcile",
  "bin/text",
];

/** The adapters inside these folders: a file, or a folder of them. */
const adaptersWithin = [
  "limiterd/cluster/engine/",
  "limiterd/store/lmdb/",
  "proxy/handlers/openapi/openapi-file.ts",
  "proxy/limiter/client/connect-limiter.ts",
  "proxy/limiter/spool/",
  "proxy/metrics/spans/",
  "proxy/prices/genai-prices.ts",
  "proxy/prices/price-list.ts",
  "shared/domain/make-managed-key.ts",
  "bin/reconcile/sources/",
  "bin/text/raw-screen.ts",
];

/** Packages that one file alone imports, so that they can be exchanged or pinned in one place. */
const soleImporters = {
  "node-ipc": "shared/socket/ipc.ts",
  lmdb: "limiterd/store/lmdb/lmdb-file.ts",
  "@opentelemetry/api": "proxy/metrics/spans/otel-spans.ts",
  "@opentelemetry/exporter-trace-otlp-http": "proxy/metrics/spans/otel-spans.ts",
  "@opentelemetry/exporter-trace-otlp-proto": "proxy/metrics/spans/otel-spans.ts",
  "@opentelemetry/resources": "proxy/metrics/spans/otel-spans.ts",
  "@opentelemetry/sdk-trace-base": "proxy/metrics/spans/otel-spans.ts",
  "http-proxy": "proxy/upstream/passthrough/http-proxy-upstream.ts",
  pino: "shared/log.ts",
  msgpackr: "shared/wire/codec.ts",
  jose: "proxy/auth/jose-issuers.ts",
  ioredis: "limiterd/cluster/engine/open-client.ts",
  pg: "bin/usage/sinks/postgres-sink.ts",
  "js-yaml": "shared/config/file/parse-yaml.ts",
};

const pageArea = "proxy/dashboard/web/";
const all = readSources(programs);
/** The dashboard's pages run in a browser, and have rules of their own, at the end. */
const pages = all.filter(({ path }) => path.startsWith(pageArea));
const sources = all.filter(({ path }) => !path.startsWith(pageArea));
const tests = readSources(["test"]);
const directoryOf = (path: string): string => path.slice(0, path.indexOf("/"));

/** Where a pattern is found, as `path:line`. */
function found(files: readonly SourceFile[], pattern: RegExp): string[] {
  return files.flatMap(({ path, code }) =>
    [...code.matchAll(pattern)].map(
      (match) => `${path}:${code.slice(0, match.index).split("\n").length} ${match[0].trim()}`,
    ),
  );
}

t.test(
  "the reader of sources sees code and not what stands in comments, texts and expressions",
  async (t) => {
    const table = [
      ["let a; // let b", "let a; "],
      ["a /* any\n any */ b", "a \n b"],
      ['f("any // x") + 1', "f( ) + 1"],
      ["f('\\'any')", "f( )"],
      ["`any ${b + `x${c}`} any`", " b + c "],
      ['x = /[/"]any/.test(y) / 2', "x = 0 .test(y) / 2"],
    ] as const;
    for (const [text, code] of table) {
      t.equal(withoutTexts(text).replace(/ +/g, " "), code, text);
      t.equal(withoutTexts(text).length, text.length, "positions stay");
    }
    const ipc = sources.find(({ path }) => path === "shared/socket/ipc.ts")!;
    t.ok(ipc.imports.some(({ from, ours, typeOnly }) => from === "node-ipc" && !ours && !typeOnly));
    t.ok(
      sources
        .find(({ path }) => path === "proxy/handle-request.ts")!
        .imports.some(({ from, typeOnly }) => from === "proxy/gateway.ts" && typeOnly),
    );
    t.ok(sources.length > 80 && tests.length > 40, "all directories are read");
  },
);

/** Which program may import which. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  bin: ["bin", "proxy", "limiterd", "shared"],
  proxy: ["proxy", "shared"],
  limiterd: ["limiterd", "shared"],
  shared: ["shared"],
};

t.test(
  "imports go one way: bin to proxy and limiterd, these to shared; none to a test",
  async (t) => {
    const wrong = sources.flatMap(({ path, imports }) =>
      imports
        .filter(
          ({ from, ours }) => ours && !mayImport[directoryOf(path)]!.includes(directoryOf(from)),
        )
        .map(({ from }) => `${path} imports ${from}`),
    );
    t.same(wrong, []);
  },
);

t.test("every export is imported somewhere", async (t) => {
  const unused = unusedExports(all, [...all, ...tests]);
  const pageList = pages.find(({ path }) => path === `${pageArea}pages.ts`)!;
  t.same(
    unused.filter((each) => {
      const [path, name] = each.split(": ") as [string, string];
      // A page is loaded when it is opened; parts are there for pages to come.
      if (path.startsWith(`${pageArea}pages/`)) return !pageList.text.includes(`page.${name})`);
      return !path.startsWith(`${pageArea}parts/`);
    }),
    [],
  );
  const at = { path: "a.ts", lines: 1, imports: [] };
  const source = { ...at, text: "export const used = 1;", code: "export const used = 1;" };
  t.same(unusedExports([source], [source]), ["a.ts: used"], "and one that isn't would be seen");
});

t.test("an export has one address: no file hands on what another one exports", async (t) => {
  t.same(
    found([...sources, ...tests], /^export\s+(?:type\s+)?(?:\{[^}]*\}|\*[^;]*?)\s*from\b/gm),
    [],
  );
});

/** The exports of some files that no file imports by name, each as `path: name`. */
function unusedExports(files: readonly SourceFile[], all: readonly SourceFile[]): string[] {
  const imported = new Set<string>();
  for (const { text } of all)
    for (const [, names] of text.matchAll(
      /^(?:import\s+(?:type\s+)?|\s*const\s+)\{([^}]*)\}\s*(?:from|= await import\()/gm,
    ))
      for (const name of names!.split(",")) imported.add(importedName(name));
  const exported =
    /^export\s+(?:async\s+)?(?:declare\s+)?(?:abstract\s+)?(?:const|function\*?|class|interface|type)\s+(\w+)/gm;
  return files
    .filter(({ path }) => !path.endsWith(".d.ts"))
    .flatMap(({ path, code }) =>
      [...code.matchAll(exported)]
        .filter(([, name]) => !imported.has(name!))
        .map(([, name]) => `${path}: ${name}`),
    );
}

function importedName(written: string): string {
  return written
    .trim()
    .replace(/^type\s+/, "")
    .split(/\s+as\s+/)[0]!;
}

t.test("a program is one file: only these modules ask for the path of a module", async (t) => {
  t.same(
    sources.filter(({ code }) => code.includes("import.meta")).map(({ path }) => path),
    [
      // A program of its own, beside the daemon's (build.mjs).
      "bin/bundle/start-program.ts",
      "limiterd/maintenance/run-store-process.ts",
      "limiterd/store/lmdb/check-in-process.ts",
      // To find what the package ships.
      "proxy/dashboard/bundle-files.ts",
      "proxy/handlers/openapi/openapi-file.ts",
      "proxy/prices/genai-prices.ts",
      "proxy/prices/price-list.ts",
      // To find packages.
      "proxy/upstream/passthrough/http-proxy-upstream.ts",
    ],
  );
});

t.test("every import of ours names a file that is there", async (t) => {
  const known = new Set([...all, ...tests].map(({ path }) => path));
  t.same(
    [...all, ...tests].flatMap(({ path, imports }) =>
      imports
        .filter(({ from, ours }) => ours && !known.has(from) && !from.endsWith(".css"))
        .map(({ from }) => `${path} imports ${from}`),
    ),
    [],
  );
});

t.test("no file imports itself in a cycle, types included", async (t) => {
  const graph = new Map(
    [...all, ...tests].map(({ path, imports }) => [
      path,
      imports.filter(({ ours }) => ours).map(({ from }) => from),
    ]),
  );
  t.same(cycles(graph), []);
  const cyclic = Object.entries({ a: ["b"], b: ["c"], c: ["b"] });
  t.same(cycles(new Map(cyclic)), ["b → c → b"], "and a cycle would be seen");
});

/** Clocks, randomness, timers, and what else reaches out of the process without an import. */
const ambient =
  /\b(?:Date\.now|performance\.now|Math\.random|new Date\(\)|setTimeout|setInterval|setImmediate|fetch\(|console\.|process\.(?!\.))/g;

t.test("the pure folders neither act nor import a file that does", async (t) => {
  const actsBy = (source: SourceFile): string[] => [
    ...source.imports
      .filter(({ ours, typeOnly }) => !ours && !typeOnly)
      .map(({ from }) => `${source.path} imports ${from}`),
    ...found([source], ambient),
  ];
  const acting = new Set(sources.filter((each) => actsBy(each).length > 0).map(({ path }) => path));
  const pure = sources.filter(
    ({ path }) =>
      pureFolders.some((folder) => path.startsWith(`${folder}/`)) &&
      !adaptersWithin.some((each) => path.startsWith(each)),
  );
  t.same(pure.flatMap(actsBy), []);
  t.same(
    pure.flatMap(({ path, imports }) =>
      imports
        .filter(({ from, typeOnly }) => !typeOnly && acting.has(from))
        .map(({ from }) => `${path} imports ${from}`),
    ),
    [],
  );
  // Lines, not files: folding two pure files into one makes nothing less pure.
  const linesOf = (files: readonly SourceFile[]): number =>
    files.reduce((sum, { lines }) => sum + lines, 0);
  const [pureLines, allLines] = [linesOf(pure), linesOf(sources)];
  t.ok(pureLines > allLines / 2, `${pureLines} of ${allLines} lines are pure`);
  for (const folder of [...pureFolders, ...adaptersWithin])
    t.ok(
      sources.some(({ path }) => path.startsWith(folder)),
      `${folder} exists`,
    );
});

t.test("these packages are imported by one file each", async (t) => {
  for (const [name, path] of Object.entries(soleImporters)) {
    t.same(
      sources
        .filter(({ imports }) =>
          imports.some(({ from }) => from === name || from.startsWith(`${name}/`)),
        )
        .map((file) => file.path),
      [path],
      name,
    );
  }
});

t.test("there is no any, no enum, no default export and no module-level variable", async (t) => {
  t.same(found([...all, ...tests], /(?:[:<|&,(=]|\bas|\bextends)\s*any\b/g), [], "any");
  t.same(found([...all, ...tests], /\benum\s+\w+\s*\{/g), [], "enum");
  t.same(found([...all, ...tests], /\bexport\s+default\b/g), [], "export default");
  t.same(found(all, /^(?:export\s+)?(?:let|var)\s+\w+/gm), [], "module-level let");
});

t.test("no list is spread into a call: each item of it goes onto the stack", async (t) => {
  t.same(
    sources.flatMap(({ path, code }) =>
      spreadCalls(code)
        // Pairs of a flag and its meaning.
        .filter((at) => !code.startsWith("...flagOptions.", at))
        .map((at) => `${path}:${code.slice(0, at).split("\n").length}`),
    ),
    [],
  );
  for (const call of ["a.push(...b)", "Math.max(0, ...f(x))", "f(a, ...b).c", "new F(...a)"])
    t.equal(spreadCalls(call).length, 1, call);
  for (const other of [
    "[...a]",
    "f([...a], { ...b })",
    "(...a) => b",
    "function f(...a) {",
    "m(...a): void",
  ])
    t.same(spreadCalls(other), [], other);
});

t.test("no pattern that is matched has a list that a longer one meets", async (t) => {
  t.same(
    tests.flatMap(({ path, code }) =>
      openPatterns(code).map((at) => `${path}:${code.slice(0, at).split("\n").length}`),
    ),
    [],
  );
  for (const one of [
    "t.match(a, [])",
    "t.match(f([]), { b: [c], d })",
    "t.match(a, [b], d)",
    "t.match(a[0], { b: c[0], d: [] })",
  ])
    t.equal(openPatterns(one).length, 1, one);
  for (const other of [
    "t.same(a, [])",
    "t.match([], { length: 0 })",
    "t.match(a, b[0])",
    "t.match(a, { [b]: c, d: [e, f].join(g) })",
    "t.match(a, b! as string[], [])",
    "t.match(a, exactly([[b], { c: [] }])); f(b, [])",
    "t.match(a, b ?? f(() => [c]))",
  ])
    t.same(openPatterns(other), [], other);
});

t.test("files are named in kebab case, after what they hold", async (t) => {
  const names = [...all, ...tests].map(({ path }) => path.slice(path.lastIndexOf("/") + 1));
  t.same(
    names.filter((name) => !/^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.test|\.d)?\.tsx?$/.test(name)),
    [],
  );
  t.same(
    names.filter((name) => /utils|helpers|common|types|manager/.test(name)),
    [],
  );
});

t.test("every folder of tests is run by one file of its name", async (t) => {
  const folders = new Set(
    tests
      .filter(({ path }) => path.endsWith(".test.ts"))
      .map(({ path }) => {
        const [, folder, inner] = path.split("/").slice(0, -1);
        return folder === "end-to-end" && inner !== undefined ? `${folder}/${inner}` : folder;
      })
      .filter((folder) => folder !== undefined),
  );
  folders.delete("end-to-end");
  // `npm run heavy -- reload` runs it.
  folders.delete("end-to-end/reload");
  for (const folder of folders)
    t.ok(
      tests.some(
        ({ path, text }) =>
          path === `test/${folder}.test.ts` && text.includes(`testFolder("${folder}"`),
      ),
      folder,
    );
});

t.test("every source begins with a comment on what it is for", async (t) => {
  t.same(
    all
      .filter(({ text }) => !/^\/\*\*[^]{20,}?\*\//.test(text.replace(/^#!.*\n/, "")))
      .map(({ path }) => path),
    [],
  );
});

t.test(`only a text that can't be broken reaches beyond column ${columnsMax}`, async (t) => {
  const wide = [...all, ...tests].flatMap(({ path, text, code }) => {
    const codeLines = code.split("\n");
    return text
      .split("\n")
      .map((line, i) => ({ line, code: codeLines[i]!, at: `${path}:${i + 1}` }))
      .filter(({ line }) => line.length > columnsMax)
      .filter(({ line, code }) => isComment(line) || reachesBeyond(line, code))
      .map(({ at }) => at);
  });
  t.same(wide, []);
});

/** Whether code reaches beyond the last column when its texts are empty; templates never break. */
function reachesBeyond(line: string, code: string): boolean {
  return !/`|\$\{/.test(line) && code.replace(/ {2,}/g, " ").length > columnsMax;
}

function isComment(line: string): boolean {
  return /^\s*(?:\/\*|\*|\/\/)/.test(line);
}

/**
 * The rooms of the pages, and what each may import of them besides itself; those of `pages/` are
 * one kind, and don't know each other. The files at the top wire them together.
 */
const pageDoors: Readonly<Record<string, readonly string[]>> = {
  logic: [],
  data: ["logic"],
  texts: [],
  parts: ["logic", "data", "texts"],
  page: ["logic", "data", "texts", "parts"],
};

/** What of the other programs pages may import: types, and files that are pure. */
const forPages =
  /^shared\/(?:api\/[\w-]+|domain\/(?:user-path|child-shares|limit-key|loop-rule|money|rule|rule-hours|budget|budget-calendar|hold|on-exhausted|paid-price|reset-anchors|token-weights|verdict)|text\/percent|usage\/hosts-text|time)\.ts$/;
const packagesOfPages: Readonly<Record<string, RegExp>> = {
  preact: /./,
  "preact/hooks": /./,
  "@preact/signals": /./,
};

function pageRoom(path: string): string {
  const [room, ...below] = path.slice(pageArea.length).split("/");
  if (below.length === 0) return "top";
  return room === "pages" ? "page" : room!;
}

t.test("the pages import their own rooms, types, pure files and three packages", async (t) => {
  const wrong = pages.flatMap(({ path, imports }) =>
    imports
      .filter(({ from, ours, typeOnly }) => {
        if (!ours) return packagesOfPages[from]?.test(path) !== true;
        if (!from.startsWith(pageArea)) return !forPages.test(from);
        const [room, other] = [pageRoom(path), pageRoom(from)];
        if (room === "page" && other === "page") return directoryIn(path) !== directoryIn(from);
        return room !== "top" && room !== other && !pageDoors[room]!.includes(other) && !typeOnly;
      })
      .map(({ from }) => `${path} imports ${from}`),
  );
  t.same(wrong, []);
  t.ok(pages.length > 20, `${pages.length} files of pages`);
});

function directoryIn(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

t.test("the pages ask the gateway in one file, and never make markup of a text", async (t) => {
  const asking = pages.filter(({ path }) => !path.endsWith("/data/gateway-client.ts"));
  t.same(found(asking, /\bfetch\b|\bXMLHttpRequest\b|\bsendBeacon\b|\bWebSocket\b/g), []);
  const elsewhere = pages.filter(({ path }) => pageRoom(path) !== "data");
  t.same(found(elsewhere, /\bEventSource\b|\blocalStorage\b|\bsessionStorage\b/g), []);
  const markup =
    /dangerouslySetInnerHTML|\binnerHTML\b|\bouterHTML\b|insertAdjacentHTML|document\.write|\beval\b/;
  t.same(
    pages.filter(({ text }) => markup.test(text)).map(({ path }) => path),
    [],
  );
});
