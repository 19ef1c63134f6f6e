/** Holds `docs/openapi.json` to the table of routes: every path and method, and none else. */
import t from "tap";
import {
  endpointAddress,
  matchRoute,
  patterns,
  routes,
} from "../../../../proxy/http/match-route.js";
import { document, operations } from "../../../support/openapi/document.js";

/** A request's path for one of the document. */
const sampleOf = (path: string): string => path.replace(/\{\w+\}/g, "x1");
const served = (path: string): string => endpointAddress(sampleOf(path)).path;
const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"];

const written = (path: string): readonly string[] =>
  operations.filter((each) => each.path === path).map(({ method }) => method);

t.test("every path and method of the document is served, and no other method of it", async (t) => {
  for (const path of Object.keys(document.paths)) {
    const known = written(path);
    for (const method of methods) {
      const match = matchRoute(method, served(path));
      const isServed = match.kind === "endpoint";
      if (method === "HEAD" && !known.includes("HEAD")) continue;
      if (isServed !== known.includes(method))
        t.fail(`${method} ${path} is ${isServed ? "served, and not in" : "in"} the document`);
    }
  }
  t.ok(operations.length > 90, `${operations.length} operations`);
});

t.test("where all statuses are known each is named, that of another method too", async (t) => {
  for (const { path, method, operation } of operations) {
    const statuses = Object.keys(operation.responses);
    // What a provider answers passes with its status.
    const passes =
      /^\/(?:v1|v1beta|p|mcp)\//.test(path) && !/^\/v1(?:beta)?\/(?:models|usage)/.test(path);
    const isPassed = passes || /:\w+$/.test(path);
    t.equal(statuses.includes("default"), isPassed, `${method} ${path}`);
    if (!isPassed) t.ok(statuses.includes("405"), `${method} ${path}: 405`);
  }
});

t.test("every route is in the document with all of its methods", async (t) => {
  const described = new Map(Object.keys(document.paths).map((path) => [served(path), path]));
  for (const [route, { methods }] of routes)
    t.same(
      Object.keys(methods).filter(
        (method) => !written(described.get(route) ?? "").includes(method),
      ),
      [],
      route,
    );
  for (const [pattern, { methods, area }] of patterns) {
    // Pages for people, no part of the API.
    if (area === "dashboard") continue;
    const paths = [...described].filter(([path]) => pattern.test(path) && !routes.has(path));
    t.ok(paths.length > 0, `${pattern} is in the document`);
    for (const [, path] of paths)
      t.same(written(path).toSorted(), Object.keys(methods).toSorted(), path);
  }
});
