import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import net from "node:net";
import t, { type Test } from "tap";
import { IncomingRequest } from "../../../proxy/http/incoming-request.js";

interface Received {
  readonly request: IncomingRequest;
  readonly response: ServerResponse;
  readonly client: net.Socket;
}

/** A request as Node's server gives it to its handler, which `handle` runs. */
async function received(
  t: Test,
  text: string,
  handle: (request: IncomingRequest) => void,
): Promise<Received> {
  const server = createServer({ IncomingMessage: IncomingRequest });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = net.connect((server.address() as net.AddressInfo).port, "127.0.0.1");
  client.on("error", () => {});
  t.teardown(() => {
    client.destroy();
    server.close();
  });
  const arrived = new Promise<Received>((resolve) => {
    server.once("request", (request: IncomingRequest, response: ServerResponse) => {
      handle(request);
      resolve({ request, response, client });
    });
  });
  client.write(text);
  return arrived;
}

const head = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 6\r\n\r\n";

t.test("a receiver gets the pieces as they arrive, and the stream only its end", async (t) => {
  const pieces: string[] = [];
  const ends: string[] = [];
  let isGiven = false;
  const { request, response, client } = await received(t, `${head}abc`, (request) => {
    request.on("end", () => ends.push("stream"));
    isGiven = request.giveBody({
      onPiece: (piece) => void pieces.push(piece.toString()),
      onEnd: () => void ends.push("receiver"),
    });
  });
  t.ok(isGiven);
  t.same([pieces, ends], [["abc"], []]);
  const ended = once(request, "end");
  client.write("def");
  await ended;
  t.same(
    [pieces, ends],
    [
      ["abc", "def"],
      ["receiver", "stream"],
    ],
  );
  t.ok(request.complete && request.readableEnded && request.readableLength === 0);
  const { parser } = request.socket as net.Socket & { readonly parser: { incoming: unknown } };
  t.equal(parser.incoming, request);
  response.end();
  await once(response, "close");
  t.equal(parser.incoming, null, "Node keeps no request that has been answered");
});

t.test("a body that the stream has begun to read isn't given", async (t) => {
  const receiver = { onPiece: () => t.fail(), onEnd: () => t.fail() };
  const { request } = await received(t, `${head}abcdef`, () => {});
  t.notOk(request.giveBody(receiver));
  t.equal(String(request.read()), "abcdef");
  await received(t, `${head}abcdef`, (flowing) => {
    flowing.resume();
    t.notOk(flowing.giveBody(receiver));
  });
});

t.test("a client that leaves within its body closes the request, which doesn't end", async (t) => {
  const { request, client } = await received(t, `${head}abc`, (request) => {
    request.giveBody({ onPiece: () => {}, onEnd: () => t.fail() });
  });
  const closed = new Promise((resolve) => request.on("close", resolve));
  client.destroy();
  await closed;
  t.notOk(request.complete || request.readableEnded);
});
