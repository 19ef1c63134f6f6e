/** Writes the events of a translated stream for the client. */
import { formatEvent } from "./event-stream.js";
import type { AnswerContext, ClientEvent } from "./shared/translation.js";

interface StreamWriter {
  readonly contentType: string;
  write(events: readonly ClientEvent[]): string;
  /** The end of the stream. Call this once. */
  end(): string;
}

export function streamWriter(form: AnswerContext["streamForm"]): StreamWriter {
  return form === "array" ? new ArrayWriter() : eventWriter;
}

const eventWriter: StreamWriter = {
  contentType: "text/event-stream; charset=utf-8",
  write(events) {
    let text = "";
    for (const event of events) text += formatEvent(event);
    return text;
  },
  end: () => "",
};

/** Writes one JSON array, which Google streams to clients that don't request events. */
class ArrayWriter implements StreamWriter {
  readonly contentType = "application/json; charset=utf-8";
  #state: "new" | "begun" | "ended" = "new";

  write(events: readonly ClientEvent[]): string {
    let text = "";
    for (const { data } of events) {
      text += `${this.#state === "new" ? "[" : ",\r\n"}${data}`;
      this.#state = "begun";
    }
    return text;
  }

  end(): string {
    if (this.#state === "ended") return "";
    const text = this.#state === "new" ? "[]" : "]";
    this.#state = "ended";
    return text;
  }
}
