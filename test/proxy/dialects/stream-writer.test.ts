import t from "tap";
import { streamWriter } from "../../../proxy/dialects/stream-writer.js";

const events = (...data: string[]) => data.map((one) => ({ event: null, data: one }));

t.test("a stream is written as events, or as one array that is closed once", async (t) => {
  const sse = streamWriter("events");
  t.match(sse.contentType, /^text\/event-stream/);
  t.equal(sse.write(events("1", "2")) + sse.end(), "data: 1\n\ndata: 2\n\n");
  const array = streamWriter("array");
  t.match(array.contentType, /^application\/json/);
  const text = [
    array.write([]),
    array.write(events("1")),
    array.write(events("2", "3")),
    array.end(),
    array.end(),
  ];
  t.strictSame(text, ["", "[1", ",\r\n2,\r\n3", "]", ""]);
  t.equal(streamWriter("array").end(), "[]", "even without an event");
});
