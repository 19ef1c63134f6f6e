import t from "tap";
import {
  labelsOf,
  workerPlace,
  workerPlacesIn,
} from "../../../../bin/supervisor/metrics/worker-places.js";

t.test("a socket's name says whose it is, and other files aren't asked", async (t) => {
  const place = workerPlace("worker-a.b", 1_795_435_200_000, 4711);
  t.equal(place.file, "worker-a.b.1795435200000.4711.sock");
  t.same(workerPlacesIn(["x.sock", place.file, "y", ".1.2.sock", "settles.1.part"]), [place]);
  t.equal(workerPlacesIn(Array.from({ length: 500 }, (_, i) => `w.1.${i}.sock`)).length, 128);
});

t.test("the latest of a name has it; who finishes has a label of its own", async (t) => {
  const labels = (...places: readonly (readonly [string, number, number])[]): unknown =>
    [...labelsOf(places.map((place) => workerPlace(...place))).values()].sort();
  t.same(labels(["proxy", 5, 10]), [""], "alone, as without workers");
  t.same(labels(["proxy", 5, 10], ["worker-2", 5, 11]), ["", "worker-2"]);
  t.same(labels(["worker-2", 5, 11], ["worker-2", 9, 7], ["proxy", 5, 10]), [
    "",
    "worker-2",
    "worker-2-finishing-11",
  ]);
  t.same(labels(["proxy", 5, 10], ["proxy", 5, 12]), ["", "proxy-finishing-10"]);
});
