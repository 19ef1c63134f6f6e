/** Who looks at the pages: the session of the cookie, which the gateway tells. */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { Answer, GatewayClient } from "./gateway-client.js";

/** `none`: nobody has signed in. `open`: the gateway asks nobody to. */
export interface Session {
  readonly kind: "open" | "none" | "admin" | "self";
  readonly user_path?: string;
  readonly key_name?: string;
  readonly expires_at?: string;
  readonly version?: string;
}

const address = "/dashboard/session";

export class SessionHolder {
  readonly #client: GatewayClient;
  readonly #session = signal<Session | null>(null);

  constructor(client: GatewayClient) {
    this.#client = client;
  }

  /** Null until it is known. */
  get session(): ReadonlySignal<Session | null> {
    return this.#session;
  }

  async load(): Promise<void> {
    const answer = await this.#client.get<Session>(address);
    if (answer.ok) this.#session.value = answer.body;
    else if (answer.problem.kind === "signed-out") this.#session.value = { kind: "none" };
    else if (answer.problem.kind === "refused") this.#session.value = { kind: "open" };
  }

  async signIn(key: string): Promise<Answer<null>> {
    const answer = await this.#client.send<null>("POST", address, { key });
    if (answer.ok) await this.load();
    return answer;
  }

  async signOut(): Promise<void> {
    await this.#client.send("DELETE", address);
    this.#session.value = { kind: "none" };
  }

  /** A question was answered with 401. */
  ended(): void {
    if (this.#session.value !== null) this.#session.value = { kind: "none" };
  }
}
