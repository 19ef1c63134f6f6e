/**
 * A page of rules or budgets: requested once and then updated by the live stream; polled while
 * there is no stream.
 */
import type { ListPage } from "../../../../shared/api/list-page.js";
import type { Answer } from "./gateway-client.js";
import type { ListReader } from "./live-feed.js";
import { Poll } from "./poll.js";

const everyMs = 5_000;

/** `Message`: the data of the stream's event. */
export class LiveList<Page extends ListPage, Message extends ListPage>
  implements ListReader<Message>
{
  readonly poll: Poll<Page>;
  readonly #pageAfter: (before: Page | null, message: Message) => Page;
  #isStreamed = false;

  constructor(
    ask: (signal: AbortSignal) => Promise<Answer<Page>>,
    pageAfter: (before: Page | null, message: Message) => Page,
  ) {
    this.poll = new Poll(ask, { everyMs, isStreamed: () => this.#isStreamed });
    this.#pageAfter = pageAfter;
  }

  take(message: Message): void {
    this.#isStreamed = true;
    const { body } = this.poll.state.value;
    // An answer requested after a change may be newer; both times have the same form.
    if (body !== null && message.server_time < body.server_time) return;
    this.poll.take({ ok: true, body: this.#pageAfter(body, message) });
  }

  tick(serverTime: string): void {
    const { body } = this.poll.state.value;
    if (this.#isStreamed && body !== null)
      this.poll.take({ ok: true, body: { ...body, server_time: serverTime } });
  }

  lost(): void {
    this.#isStreamed = false;
  }
}
