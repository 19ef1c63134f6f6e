import t from "tap";
import { EventPieces } from "../../../proxy/hard-caps/event-pieces.js";

t.test("in each piece one event ends, however the stream arrives", async (t) => {
  for (const events of [
    ["data: a\n\n", "event: b\ndata: c\n\n", "data: d"],
    ["data: a\r\n\r\n", ": x\r\n\r\n", "data: d\r\n"],
    ["data: a\n\r\n", "data: b\r\n\n", "data: c\r\r\n", "data: d"],
    // The byte behind a CR shows whether it was a CRLF.
    ["data: a\r\rd", "ata: b\rdata: c\r\rd", "ata: d\n\re", "vent: e"],
  ]) {
    const stream = events.join("");
    const ends = events.map((_, i) => events.slice(0, i + 1).join("").length);
    for (const isTaken of [true, false])
      for (let cut = 0; cut < stream.length; cut++) {
        const pieces = new EventPieces();
        let out = "";
        const found = new Set<number>();
        const take = (): void => {
          for (let piece = pieces.next(); piece !== null; piece = pieces.next()) {
            out += piece.toString();
            found.add(out.length);
          }
        };
        pieces.add(Buffer.from(stream.slice(0, cut)));
        if (isTaken) take();
        pieces.add(Buffer.from(stream.slice(cut)));
        t.notOk(pieces.isEmpty);
        take();
        t.ok(pieces.isEmpty);
        t.equal(out, stream);
        const name = `${JSON.stringify(events)}, cut at ${cut}`;
        t.ok(
          ends.every((each) => found.has(each)),
          name,
        );
        // The cut, and a CRLF that it has cut.
        t.ok(found.size <= events.length + 2, name);
      }
  }
});

t.test("what is left can be taken at once", async (t) => {
  const pieces = new EventPieces();
  pieces.add(Buffer.from("data: a\n\ndata: b\n\nda"));
  t.equal(pieces.next()?.toString(), "data: a\n\n");
  t.equal(pieces.takeAll().toString(), "data: b\n\nda");
  t.equal(pieces.next(), null);
  t.equal(pieces.takeAll().length, 0);
});
