/**
 * Redis' answers (RESP2) taken from a stream. A plain object: `feed` what arrives, get whole
 * replies. Pure.
 */

export type Reply = number | string | null | RedisFailure | readonly Reply[];

/** What Redis answers to a command that it refuses. A value, since it comes in a reply's place. */
export interface RedisFailure {
  readonly failure: string;
}

export interface ReplyReader {
  feed(chunk: Buffer, onReply: (reply: Reply) => void): void;
}

export function isFailure(reply: Reply): reply is RedisFailure {
  return typeof reply === "object" && reply !== null && "failure" in reply;
}

const incomplete = Symbol("incomplete");

export function createReplyReader(): ReplyReader {
  let bytes: Buffer = Buffer.alloc(0);
  let at = 0;

  function line(): string | typeof incomplete {
    const end = bytes.indexOf(13, at);
    if (end < 0 || end + 1 >= bytes.length) return incomplete;
    const text = bytes.toString("latin1", at, end);
    at = end + 2;
    return text;
  }

  /** The hot path: almost every reply holds small integers, so they are read digit by digit. */
  function integer(): number | typeof incomplete {
    const isNegative = bytes[at] === 45;
    let value = 0;
    for (let i = isNegative ? at + 1 : at; i + 1 < bytes.length; i++) {
      const byte = bytes[i]!;
      if (byte === 13) {
        at = i + 2;
        return isNegative ? -value : value;
      }
      value = value * 10 + byte - 48;
    }
    return incomplete;
  }

  function bulk(): string | null | typeof incomplete {
    const length = integer();
    if (length === incomplete) return incomplete;
    if (length < 0) return null;
    if (at + length + 2 > bytes.length) return incomplete;
    const text = bytes.toString("latin1", at, at + length);
    at += length + 2;
    return text;
  }

  function array(): readonly Reply[] | null | typeof incomplete {
    const length = integer();
    if (length === incomplete) return incomplete;
    if (length < 0) return null;
    const items: Reply[] = [];
    while (items.length < length) {
      const item = reply();
      if (item === incomplete) return incomplete;
      items.push(item);
    }
    return items;
  }

  function reply(): Reply | typeof incomplete {
    if (at >= bytes.length) return incomplete;
    const kind = String.fromCharCode(bytes[at++]!);
    switch (kind) {
      case ":":
        return integer();
      case "*":
        return array();
      case "$":
        return bulk();
      case "+":
        return line();
      case "-": {
        const text = line();
        return text === incomplete ? incomplete : { failure: text };
      }
      default:
        throw new Error(`Redis answered with a reply of the unknown kind ${JSON.stringify(kind)}`);
    }
  }

  return {
    feed(chunk, onReply) {
      bytes = at < bytes.length ? Buffer.concat([bytes.subarray(at), chunk]) : chunk;
      at = 0;
      for (;;) {
        const start = at;
        const next = reply();
        if (next === incomplete) {
          at = start;
          return;
        }
        onReply(next);
      }
    },
  };
}
