/**
 * What tenants that always have requests waiting are charged under a cap that they share: by weight
 * alike, but for a constant (docs/limit-options.md, "Shares of a limit"). The charges are those of
 * the settles, which the daemon learns only at the end of each request.
 */
import t from "tap";
import type { ChildShares } from "../../../shared/domain/child-shares.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import type { Admit, Lease } from "../../../shared/wire/message-to-daemon.js";
import { createRandom } from "../../sim/random.js";
import {
  executed,
  leaseOf,
  pathRule,
  settleOf,
  startDaemon,
  type TestDaemon,
  type TestPeer,
  target,
} from "../in-memory-daemon.js";

const periodSeconds = 10;
const tickMs = 100;

interface Tenant {
  readonly name: string;
  /** The tokens of its largest request. */
  readonly size: number;
  readonly weight: number;
  /** How many requests it keeps waiting: more than one tick can admit. */
  readonly backlog: number;
  charged: number;
}

interface Running {
  readonly tenant: Tenant;
  readonly lease: Lease;
  /** The most tokens that it may use. */
  readonly most: number;
  readonly endMs: number;
}

interface Proxy {
  peer: TestPeer;
  read: number;
  readonly asked: Map<number, Tenant>;
  running: Running[];
}

interface Kind {
  readonly rule: RuleDefinition;
  /** Whether requests say what they may use. */
  readonly isMetered?: boolean;
  /** Whether each costs one request, and tokens don't matter. */
  readonly inRequests?: boolean;
  /**
   * Whether requests end early or fail, and one tenant's are withdrawn. If the cap isn't hard,
   * some are also lost with their proxy.
   */
  readonly fails?: boolean;
}

class Tenants {
  readonly tenants: readonly Tenant[];
  /** The most that requests which ran at the same time could be charged, by weight. */
  mostInFlight = 0;
  readonly #kind: Kind;
  readonly #random = createRandom(32);
  readonly #daemon: TestDaemon;
  readonly #proxies: Proxy[];
  /** Whether what goes wrong in this kind does so now. */
  #fails = false;
  #starts = 0;
  #lastId = 1;
  #seq = 0;

  constructor(kind: Kind, sizes: Readonly<Record<string, number>>) {
    const { children = {} } = kind.rule.childShares!;
    this.#kind = kind;
    this.tenants = Object.entries(sizes).map(([name, size]) => {
      const backlog = size === 1 ? 40 : 5;
      return { name, size, weight: children[name]?.weight ?? 1, backlog, charged: 0 };
    });
    const waiting = { maxMs: 1e9, defaultMs: 1e9, paths: [] };
    this.#daemon = startDaemon([kind.rule], { waiting });
    this.#proxies = [this.#newProxy(), this.#newProxy()];
  }

  #newProxy(): Proxy {
    const peer = this.#daemon.proxy(`p${++this.#starts}`);
    return { peer, read: 0, asked: new Map(), running: [] };
  }

  /** Each has had one request, so that the daemon knows what they cost. */
  async begin(): Promise<void> {
    for (const tenant of this.tenants) this.#ask(this.#proxies[0]!, tenant);
    for (let i = 0; i < 200; i++) await this.#pass();
    this.reset();
    this.#fails = this.#kind.fails === true;
  }

  reset(): void {
    for (const tenant of this.tenants) tenant.charged = 0;
  }

  async tick(): Promise<void> {
    for (const tenant of this.tenants)
      for (const proxy of this.#proxies)
        for (let left = tenant.backlog - waitingOf(proxy, tenant); left > 0; left--)
          this.#ask(proxy, tenant);
    await this.#pass();
    if (this.#fails && this.#kind.isMetered !== true && this.#random.chance(0.005)) this.#kill();
  }

  async #pass(): Promise<void> {
    this.#daemon.nowMs += tickMs;
    for (const proxy of this.#proxies) {
      const due = proxy.running.filter(({ endMs }) => endMs <= this.#daemon.nowMs);
      proxy.running = proxy.running.filter(({ endMs }) => endMs > this.#daemon.nowMs);
      for (const running of due) this.#end(proxy, running);
    }
    await this.#daemon.commit();
    for (const proxy of this.#proxies) this.#read(proxy);
  }

  #ask(proxy: Proxy, tenant: Tenant): void {
    const id = ++this.#lastId;
    proxy.asked.set(id, tenant);
    const outputMax = tenant.size - 1;
    const metered = { promptTokens: 1, outputMax, isStreamed: false, rates: [null] };
    const question: Admit = {
      ...{ kind: "admit", id, userPath: `/team/${tenant.name}`, credential: "authenticated" },
      ...{ targets: [target], submission: false, read: 0 },
      wait: { askedMs: null, timeoutMs: null, waitedMs: 0 },
      ...(this.#kind.isMetered === true ? { metered } : {}),
    };
    proxy.peer.send(question);
    this.#read(proxy);
  }

  #read(proxy: Proxy): void {
    const { received } = proxy.peer;
    for (; proxy.read < received.length; proxy.read++) {
      const message = received[proxy.read]!;
      if (message.kind !== "admitted") continue;
      const tenant = proxy.asked.get(message.id)!;
      proxy.asked.delete(message.id);
      const lease = leaseOf(message, `/team/${tenant.name}`);
      const endMs = this.#daemon.nowMs + this.#random.int(2, 12) * tickMs;
      // Its prompt, and the output that a hard cap allows.
      const most = 1 + (message.allowance ?? tenant.size);
      proxy.running.push({ tenant, lease, most, endMs });
    }
    const inFlight = this.#proxies.flatMap(({ running }) => running);
    const sum = inFlight.reduce((all, each) => all + this.#most(each.tenant), 0);
    this.mostInFlight = Math.max(this.mostInFlight, sum);
  }

  #most({ size, weight }: Tenant): number {
    return (this.#kind.inRequests === true ? 1 : size) / weight;
  }

  #end({ peer }: Proxy, { tenant, lease, most }: Running): void {
    const tokens = Math.min(most, this.#tokens(tenant));
    const leaves = this.#fails && tenant === this.tenants[0];
    const isWithdrawn = leaves && this.#random.chance(0.4);
    const settle = settleOf(lease, ++this.#seq, isWithdrawn ? 0 : tokens);
    const record = executed({ inputTokens: tokens, outputTokens: 0 });
    peer.send(isWithdrawn ? { ...settle, part: "withdrawn" } : { ...settle, record });
    if (!isWithdrawn) tenant.charged += this.#kind.inRequests === true ? 1 : tokens;
  }

  #tokens({ size }: Tenant): number {
    if (this.#fails && this.#random.chance(0.05)) return 0;
    return this.#fails ? this.#random.int(1, size) : size;
  }

  /** A proxy dies: nobody learns what its requests have used. */
  #kill(): void {
    const [first, second] = this.#proxies as [Proxy, Proxy];
    first.peer.close();
    this.#proxies.splice(0, 2, second, this.#newProxy());
  }

  get services(): readonly number[] {
    return this.tenants.map(({ charged, weight }) => charged / weight);
  }

  get difference(): number {
    return Math.max(...this.services) - Math.min(...this.services);
  }

  /** The constant of the theorem. */
  get bound(): number {
    return Math.max(this.mostInFlight, ...this.tenants.map((tenant) => this.#most(tenant)));
  }
}

function waitingOf({ asked }: Proxy, tenant: Tenant): number {
  let sum = 0;
  for (const other of asked.values()) if (other === tenant) sum++;
  return sum;
}

function jain(values: readonly number[]): number {
  const sum = values.reduce((all, value) => all + value, 0);
  return sum ** 2 / (values.length * values.reduce((all, value) => all + value ** 2, 0));
}

const two = { small: 1, large: 100 };
const five = { small: 1, another: 1, middle: 10, large: 100, huge: 100 };

const shares: ChildShares = {};
const weights: ChildShares = { children: { large: { weight: 3 }, another: { weight: 0.5 } } };
const slots = (childShares: ChildShares): RuleDefinition => ({
  ...pathRule("/team", 0, { requests: 4 }),
  childShares,
});
const tokens = (childShares: ChildShares): RuleDefinition => ({
  ...pathRule("/team", periodSeconds, { tokens: 250 }),
  childShares,
});
const hard = (childShares: ChildShares): RuleDefinition => ({
  ...tokens(childShares),
  hold: "hard",
});
const dollars: RuleDefinition = {
  ...pathRule("/team", periodSeconds, {}),
  measureCaps: { cost: 7.5e-10 },
  childShares: shares,
};
const requests: RuleDefinition = {
  ...pathRule("/team", periodSeconds, { requests: 30 }),
  childShares: weights,
};

const kinds: Readonly<Record<string, Kind>> = {
  slots: { rule: slots(shares) },
  "slots by weight, with failures": { rule: slots(weights), fails: true },
  tokens: { rule: tokens(shares) },
  "tokens by weight, with failures": { rule: tokens(weights), fails: true },
  "tokens of a hard cap": { rule: hard(shares), isMetered: true },
  "tokens of a hard cap by weight, with failures": {
    ...{ rule: hard(weights), isMetered: true, fails: true },
  },
  dollars: { rule: dollars },
  "requests by weight, with failures": { rule: requests, inRequests: true, fails: true },
};

const cases = Object.entries(kinds).flatMap(([name, kind]) =>
  (kind.fails === true ? [five] : [two, five]).map((sizes) => ({ name, kind, sizes })),
);

for (const { name, kind, sizes } of cases)
  t.test(`${Object.keys(sizes).length} tenants of 1:100 are charged alike: ${name}`, async (t) => {
    const all = new Tenants(kind, sizes);
    await all.begin();
    let most = 0;
    let ticks = 0;
    // The horizon: each has been charged ten times the bound.
    for (; ticks < 30_000 && Math.min(...all.services) < 10 * all.bound; ticks++) {
      await all.tick();
      // At the beginning they may differ by the bound in the other direction.
      most = Math.max(most, all.difference / (2 * all.bound));
    }
    const index = jain(all.services);
    t.comment(`${ticks} ticks: ${all.services}, ${all.bound}; ${most}; Jain ${index}`);
    t.ok(ticks < 30_000);
    t.ok(most <= 1, `${most} of the bound`);
    t.ok(index >= 0.99, `Jain's index ${index}: ${all.services}`);
  });

/** What children get of a cap, worked out by hand. */
const worked: Readonly<Record<string, { shares: ChildShares; parts: Record<string, number> }>> = {
  "a floor is a minimum: what it leaves is divided by weight among the others": {
    shares: { children: { large: { floor: 0.5 } } },
    parts: { small: 1 / 8, another: 1 / 8, middle: 1 / 8, large: 1 / 2, huge: 1 / 8 },
  },
  "a floor below the part by weight changes nothing": {
    shares: { children: { small: { floor: 0.3, weight: 6 } } },
    parts: { small: 0.6, another: 0.1, middle: 0.1, large: 0.1, huge: 0.1 },
  },
  "of two floors one is below the part by weight": {
    shares: { children: { huge: { floor: 0.4 }, small: { floor: 0.1, weight: 3 } } },
    // Of the 0.6 that the floor of huge leaves, small has 3 of 6 parts.
    parts: { small: 0.3, another: 0.1, middle: 0.1, large: 0.1, huge: 0.4 },
  },
};

for (const [name, { shares: childShares, parts }] of Object.entries(worked))
  for (const isMetered of [false, true])
    t.test(`${name}${isMetered ? ", of a hard cap" : ""}`, async (t) => {
      const rule = { ...(isMetered ? hard : tokens)(childShares) };
      const all = new Tenants({ rule: { ...rule, maxTokens: 2500 }, isMetered }, five);
      await all.begin();
      for (let tick = 0; tick < 900; tick++) {
        // At first there is room for all.
        if (tick === 300) all.reset();
        await all.tick();
      }
      // A part may be exceeded by one request.
      const exact = 100 / 2500;
      const sum = all.tenants.reduce((charged, tenant) => charged + tenant.charged, 0);
      for (const { name: child, charged } of all.tenants)
        t.ok(
          Math.abs(charged / sum - parts[child]!) <= exact,
          `${child} has ${charged / sum}, not ${parts[child]}`,
        );
    });
