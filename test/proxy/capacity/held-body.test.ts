import fc from "fast-check";
import t from "tap";
import { HeldBody } from "../../../proxy/capacity/held-body.js";

function memoryOf(max = Infinity) {
  const memory = {
    held: 0,
    most: 0,
    take(bytes: number): boolean {
      if (memory.held + bytes > max) return false;
      memory.held += bytes;
      memory.most = Math.max(memory.most, memory.held);
      return true;
    },
    give(bytes: number): void {
      memory.held -= bytes;
    },
  };
  return memory;
}

t.test("a body is what came, in as much memory as it is long", async () => {
  const pieces = fc.array(fc.uint8Array({ minLength: 1, maxLength: 50 }), { minLength: 1 });
  fc.assert(
    fc.property(pieces, fc.constantFrom("announced", "less", "unknown"), (arrays, kind) => {
      const sent = Buffer.concat(arrays);
      const announced = kind === "announced" ? sent.length : kind === "less" ? 1 : Infinity;
      const memory = memoryOf();
      const body = new HeldBody(announced, memory);
      for (const piece of arrays) if (!body.append(Buffer.from(piece))) return false;
      const isTight = kind !== "announced" || memory.most === sent.length;
      return body.take().equals(sent) && memory.held === sent.length && isTight;
    }),
  );
});

t.test("a body in one piece isn't copied, and one in single bytes is one Buffer", async (t) => {
  const piece = Buffer.from("all of it");
  const one = new HeldBody(9, memoryOf());
  one.append(piece);
  t.equal(one.take(), piece);
  const memory = memoryOf();
  const many = new HeldBody(Infinity, memory);
  for (let i = 0; i < 70_000; i++) many.append(Buffer.from("x"));
  t.ok(memory.most <= 2 * 70_000);
  t.equal(many.take().length, 70_000);
});

t.test(
  "what is announced takes nothing before it comes; what doesn't fit isn't read",
  async (t) => {
    const memory = memoryOf(100_000);
    const body = new HeldBody(90_000, memory);
    t.equal(memory.held, 0);
    t.ok(body.append(Buffer.alloc(10)));
    t.equal(memory.held, 10);
    t.ok(body.append(Buffer.alloc(10)));
    t.ok(memory.held <= 64 * 1024);
    t.notOk(body.append(Buffer.alloc(100_000)));
    body.discard();
    t.equal(memory.held, 0);
  },
);

t.test("without a piece it is empty", async (t) => {
  t.equal(new HeldBody(Infinity, memoryOf()).take().length, 0);
});
