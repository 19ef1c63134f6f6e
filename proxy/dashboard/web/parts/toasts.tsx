/**
 * Short notices of completed actions, in the only live region of the page. A notice stays until the
 * next one or until it is closed, so that users can read it in their own time.
 */
import { type ReadonlySignal, signal } from "@preact/signals";
import { shellTexts } from "../texts/shell-texts.js";
import { Icon } from "./icon.js";

interface Toast {
  readonly id: number;
  readonly kind: "done" | "failed";
  readonly text: string;
  /** Undoes the action. */
  readonly undo?: (() => void) | undefined;
}

const shownMax = 3;
const doneMs = 6_000;

export class ToastList {
  readonly #toasts = signal<readonly Toast[]>([]);
  #next = 0;

  get toasts(): ReadonlySignal<readonly Toast[]> {
    return this.#toasts;
  }

  /** Disappears after a while, unless it can be undone. */
  done(text: string, undo?: () => void): void {
    const id = this.#add("done", text, undo);
    if (undo === undefined) setTimeout(() => this.close(id), doneMs);
  }

  /** Stays until it is closed. */
  failed(text: string): void {
    this.#add("failed", text);
  }

  close(id: number): void {
    this.#toasts.value = this.#toasts.value.filter((toast) => toast.id !== id);
  }

  #add(kind: Toast["kind"], text: string, undo?: () => void): number {
    const id = this.#next++;
    this.#toasts.value = [...this.#toasts.value, { id, kind, text, undo }].slice(-shownMax);
    return id;
  }
}

export function Toasts({ list }: { readonly list: ToastList }) {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {list.toasts.value.map(({ id, kind, text, undo }) => (
        <div class="toast" key={id}>
          <span class={kind === "done" ? "good" : "bad"}>
            <Icon name={kind === "done" ? "check" : "alert"} />
          </span>
          <span>{text}</span>
          {undo !== undefined && (
            <button
              type="button"
              class="button"
              onClick={() => {
                list.close(id);
                undo();
              }}
            >
              {shellTexts.undo}
            </button>
          )}
          <button
            type="button"
            class="button ghost square"
            aria-label={shellTexts.close}
            onClick={() => list.close(id)}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
