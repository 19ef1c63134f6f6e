import t from "tap";
import { createRequestIds } from "../../../proxy/http/request-id.js";

t.test("a valid id is kept; anything else gets a new one", async (t) => {
  const ids = createRequestIds();
  const idOf = (given: unknown): string => ids(given).id;
  for (const given of ["a", "job-7:3/x+y=z@_.", "x".repeat(128)]) t.equal(idOf(given), given);
  for (const given of [undefined, "", "x".repeat(129), "a b", "a\nb", 'a"b', "ü", ["a"]])
    t.match(idOf(given), /^req_[\w-]{22}$/, JSON.stringify(given));
});

t.test("new ids never repeat, within a process or between two", async (t) => {
  const [one, other] = [createRequestIds(), createRequestIds()];
  const ids = Array.from({ length: 5000 }, () => [one(undefined).id, other(undefined).id]).flat();
  t.equal(new Set(ids).size, 10_000);
  t.same(
    ids.filter((id) => !/^req_[\w-]{22}$/.test(id)),
    [],
  );
});

t.test("our own id is new, whatever a caller names its requests", async (t) => {
  const ids = createRequestIds();
  const [first, second] = [ids("same"), ids("same")];
  t.same([first.id, second.id], ["same", "same"]);
  t.not(first.ownId, second.ownId);
  const unnamed = ids(undefined);
  t.equal(unnamed.id, unnamed.ownId);
});
