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
    for (let cut = 0; cut < stream.length; cut++) {
      const pieces = new EventPieces();
      let out = "";
      const found = new Set<number>();
      for (const chunk of [stream.slice(0, cut), stream.slice(cut)])
        for (const piece of pieces.split(Buffer.from(chunk))) {
          out += piece.toString();
          found.add(out.length);
        }
      const later = new EventPieces();
      let at = later.asOnePiece(Buffer.from(stream.slice(0, cut))).length;
      const foundLater = new Set([at]);
      for (const { length } of later.split(Buffer.from(stream.slice(cut)))) {
        at += length;
        foundLater.add(at);
      }
      t.ok(
        ends.every((end) => end < cut || foundLater.has(end)),
        `${JSON.stringify(events)}, whole until ${cut}`,
      );
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
