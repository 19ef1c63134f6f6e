/**
 * An upload over a bare socket, piece by piece: for clients that lie, dawdle, leave, or don't stop
 * when they are answered.
 */
import { once } from "node:events";
import { connect } from "node:net";

export interface RawUpload {
  /** Sends some of the body; false once the other side takes no more. */
  send(bytes: Buffer | string): Promise<boolean>;
  /** Ends a body sent without a length. */
  end(): Promise<boolean>;
  /** The answer, once it is whole. */
  answer(): Promise<RawAnswer>;
  /** The client leaves. */
  leave(): void;
}

export interface RawAnswer {
  readonly status: number;
  readonly closes: boolean;
  readonly body: string;
}

/** Begins a form, with its length, or in chunks when that is null. Its boundary is `B`. */
export function beginUpload(url: string, path: string, length: number | null): RawUpload {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  let got = "";
  const whole = new Promise<void>((resolve) => {
    socket.on("data", (data: Buffer) => {
      got += data.toString("latin1");
      if (isWhole(got)) resolve();
    });
    socket.on("close", () => resolve());
  });
  socket.on("error", () => {});
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: multipart/form-data; boundary=B\r\n${length === null ? "transfer-encoding: chunked" : `content-length: ${length}`}\r\n\r\n`,
  );
  const write = async (bytes: Buffer): Promise<boolean> => {
    if (!socket.writable) return false;
    if (!socket.write(bytes)) await Promise.race([once(socket, "drain"), once(socket, "close")]);
    return socket.writable;
  };
  return {
    send: (bytes) =>
      write(
        length === null
          ? Buffer.concat([
              Buffer.from(`${Buffer.byteLength(bytes).toString(16)}\r\n`),
              Buffer.from(bytes as string),
              Buffer.from("\r\n"),
            ])
          : Buffer.from(bytes as string),
      ),
    end: () => write(Buffer.from("0\r\n\r\n")),
    async answer() {
      await whole;
      const [head = "", body = ""] = got.split("\r\n\r\n");
      return {
        status: Number(head.split(" ")[1]),
        closes: /^connection: close$/im.test(head),
        body,
      };
    },
    leave: () => void socket.destroy(),
  };
}

/** All the proxy's answers to these tests have a content-length. */
function isWhole(got: string): boolean {
  const [head = "", body] = got.split("\r\n\r\n");
  return body !== undefined && body.length >= Number(/^content-length: (\d+)$/im.exec(head)?.[1]);
}

export const formFile =
  '--B\r\ncontent-disposition: form-data; name="file"; filename="a.mp3"\r\ncontent-type: audio/mpeg\r\n\r\n';
export const formEnd = "\r\n--B--\r\n";

export function formField(name: string, value: string): string {
  return `--B\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
}
