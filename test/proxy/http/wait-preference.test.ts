import t from "tap";
import { waitedHeaders, waitOf } from "../../../proxy/http/wait-preference.js";

const limits = { maxMs: 30_000, defaultMs: 0, paths: [] };
const of = (headers: Readonly<Record<string, string>>) => ({
  header: (name: string) => headers[name],
});

t.test("what a Prefer header asks for, up to what the operator allows", async (t) => {
  const asked = (prefer: string) => waitOf(of({ prefer }), limits, 0)?.atMostMs ?? 0;
  t.same(
    [
      ["wait=10", 10_000],
      ["respond-async, wait=10; x=1", 10_000],
      ['Wait = "10"', 10_000],
      ["wait=10, wait=20", 10_000],
      ["wait=99", 30_000],
      ["wait=0", 0],
      ["wait", 0],
      ["wait=1.5", 0],
      ["wait=-1", 0],
      ["await=10", 0],
      ['return="a,wait=7"', 0],
      ['return="a,\\"wait=7", wait=8', 8000],
      ["", 0],
    ].map(([prefer]) => asked(String(prefer))),
    [10_000, 10_000, 10_000, 10_000, 30_000, 0, 0, 0, 0, 0, 0, 8000, 0],
  );
});

t.test("never longer than the client's own timeout, less the way back", async (t) => {
  const prefer = "wait=30";
  for (const name of ["x-stainless-timeout", "x-stainless-read-timeout"]) {
    const within = (text: string, elapsedMs = 0) =>
      waitOf(of({ prefer, [name]: text }), limits, elapsedMs)?.atMostMs ?? 0;
    t.same(
      [within("600"), within("10"), within("10.5"), within("10", 4000), within("1"), within("x")],
      [30_000, 9000, 9500, 5000, 0, 30_000],
    );
  }
});

t.test("without the header a default applies, that of any path", async (t) => {
  const paths = [{ path: "/a", maxMs: 90_000, defaultMs: 60_000 }];
  t.equal(waitOf(of({}), limits, 0), null);
  t.match(waitOf(of({}), { ...limits, paths }, 0), { askedMs: null, atMostMs: 60_000 });
  t.match(waitOf(of({ prefer: "wait=80" }), { ...limits, paths }, 0), { atMostMs: 80_000 });
  t.equal(waitOf(of({ prefer: "wait=0" }), { ...limits, paths }, 0), null);
  t.equal(waitOf(of({ prefer: "wait=9" }), { maxMs: 0, defaultMs: 0, paths: [] }, 0), null);
});

t.test("the headers of an answer", async (t) => {
  t.same(waitedHeaders(undefined), []);
  t.same(waitedHeaders({ ms: 12, isPreferred: false }), ["x-sluice-waited-ms", "12"]);
  t.same(waitedHeaders({ ms: 12, isPreferred: true }), [
    ...["x-sluice-waited-ms", "12"],
    ...["preference-applied", "wait"],
  ]);
});
