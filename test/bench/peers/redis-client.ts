/**
 * A minimal Redis client on a Unix socket. Like the daemon's clients it gathers what one turn of
 * the event loop sends into one write.
 */
import net from "node:net";
import { createReplyReader, isFailure, type Reply } from "./redis-reply.js";

export interface RedisClient {
  /** Queues an encoded command; replies come in the order of the commands. */
  send(command: string, onReply: (reply: Reply) => void): void;
  /** One command on its own; rejects when Redis refuses it. */
  ask(args: readonly string[]): Promise<Reply>;
}

export function connectRedis(path: string, onLost: (error: Error) => void): Promise<RedisClient> {
  const reader = createReplyReader();
  const socket = net.connect({ path });
  let waiting: ((reply: Reply) => void)[] = [];
  let answered = 0;
  let queue = "";

  function send(command: string, onReply: (reply: Reply) => void): void {
    if (queue === "") setImmediate(flush);
    queue += command;
    waiting.push(onReply);
  }

  function flush(): void {
    const commands = queue;
    queue = "";
    socket.write(commands, "latin1");
  }

  function onReply(reply: Reply): void {
    waiting[answered++]!(reply);
    if (answered < 1024) return;
    waiting = waiting.slice(answered);
    answered = 0;
  }

  const ask = (args: readonly string[]): Promise<Reply> =>
    new Promise((resolve, reject) => {
      send(encodeCommand(args), (reply) =>
        isFailure(reply)
          ? reject(new Error(`Redis refused ${args[0]}: ${reply.failure}`))
          : resolve(reply),
      );
    });

  socket.on("data", (chunk: Buffer) => reader.feed(chunk, onReply));
  return new Promise((resolve, reject) => {
    socket.once("connect", () => resolve({ send, ask }));
    socket.once("error", (error) => {
      reject(error);
      onLost(error);
    });
    socket.once("end", () => onLost(new Error("Redis closed the connection")));
  });
}

/** A command as Redis reads it. Arguments are ASCII. */
export function encodeCommand(args: readonly string[]): string {
  let text = `*${args.length}\r\n`;
  for (const arg of args) text += `$${arg.length}\r\n${arg}\r\n`;
  return text;
}
