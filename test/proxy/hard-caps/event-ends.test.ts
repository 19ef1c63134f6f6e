import t from "tap";
import { EventEnds } from "../../../proxy/hard-caps/event-ends.js";

t.test("the end of each event is found, in whatever pieces the stream arrives", async (t) => {
  for (const events of [
    ["data: a\n\n", "event: b\ndata: c\n\n", "data: d"],
    ["data: a\r\n\r\n", ": x\r\n\r\n", "data: d\r\n"],
  ]) {
    const stream = events.join("");
    const ends = new EventEnds();
    for (let at = 0, i = 0; at < stream.length; i++) {
      at += ends.next(Buffer.from(stream.slice(at)));
      t.equal(at, events.slice(0, i + 1).join("").length);
    }
    const [{ length: end }] = events as [string];
    for (let cut = 1; cut < stream.length; cut++) {
      const inTwo = new EventEnds();
      const found = inTwo.next(Buffer.from(stream.slice(0, cut)));
      t.equal(found, Math.min(cut, end), `cut at ${cut}`);
      if (cut < end) t.equal(cut + inTwo.next(Buffer.from(stream.slice(cut))), end);
    }
  }
});
