/** The signed-in user: the session of the cookie, as the gateway reports it. */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { SessionStatus, SignedIn } from "../../../../shared/api/session-status.js";
import type { Answer, GatewayClient, Problem } from "./gateway-client.js";

const address = "/dashboard/session";

export class SessionHolder {
  readonly #client: GatewayClient;
  readonly #session = signal<SignedIn | null>(null);
  readonly #hasEnded = signal(false);
  readonly #hasProvider = signal(false);
  readonly #problem = signal<Problem | null>(null);

  constructor(client: GatewayClient) {
    this.#client = client;
  }

  /** Null until known. */
  get session(): ReadonlySignal<SignedIn | null> {
    return this.#session;
  }

  /** Why it isn't known. */
  get problem(): ReadonlySignal<Problem | null> {
    return this.#problem;
  }

  /** Whether a session has ended without a sign-out. */
  get hasEnded(): ReadonlySignal<boolean> {
    return this.#hasEnded;
  }

  /** Whether people sign in at a provider of OpenID Connect. */
  get hasProvider(): ReadonlySignal<boolean> {
    return this.#hasProvider;
  }

  async load(): Promise<void> {
    const answer = await this.#client.get<SessionStatus>(address);
    this.#problem.value = answer.ok ? null : answer.problem;
    if (!answer.ok) return;
    this.#hasProvider.value = answer.body.oidc;
    this.#session.value = answer.body;
  }

  async signIn(key: string): Promise<Answer<null>> {
    const answer = await this.#client.send<null>("POST", address, { key });
    if (answer.ok) {
      this.#hasEnded.value = false;
      await this.load();
    }
    return answer;
  }

  async signOut(): Promise<void> {
    await this.#client.send("DELETE", address);
    this.#session.value = { kind: "none" };
  }

  /** A request was answered with 401. */
  ended(): void {
    const { kind } = this.#session.value ?? {};
    if (kind === undefined || kind === "none") return;
    this.#session.value = { kind: "none" };
    this.#hasEnded.value = true;
  }
}

/** Whether it is the holder of a role for a subtree. */
export function isOfSubtree(who: SignedIn | null | undefined): boolean {
  return rootOf(who) !== "/";
}

/** The path that a reader sees, with everything below it. */
export function rootOf(who: SignedIn | null | undefined): string {
  return who?.kind === "admin" ? who.path : "/";
}
