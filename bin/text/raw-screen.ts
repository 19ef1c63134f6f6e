/**
 * The terminal of a program that redraws the screen: the alternate screen, single keys, resizing.
 * Every exit restores it: the end, a signal, an error. Ctrl-Z restores it before the program stops,
 * and the program takes it again when it resumes.
 */
import { emitKeypressEvents } from "node:readline";
import { escapeControls } from "../../shared/logging/escape-controls.js";

export interface Screen {
  size(): { readonly columns: number; readonly rows: number };
  draw(lines: readonly string[]): void;
  /** The next key, `resize` after a change of size, or null after `withinMs`. */
  nextKey(withinMs: number): Promise<string | null>;
  /** Restores the terminal and stops the program until SIGCONT. */
  suspend(): void;
  close(): void;
}

interface Key {
  readonly name?: string;
  readonly ctrl?: boolean;
  readonly sequence?: string;
}

/** Null without a terminal, or with one that can't be redrawn. */
export function openScreen(onKilled: (exitCode: number) => void): Screen | null {
  const { stdin, stdout, env } = process;
  if (!stdin.isTTY || !stdout.isTTY || env["TERM"] === "dumb") return null;
  const keys: string[] = [];
  let wake: (() => void) | null = null;
  let isTaken = false;
  const push = (key: string): void => {
    if (keys.length < 100) keys.push(key);
    wake?.();
  };
  const take = (): void => {
    if (isTaken) return;
    isTaken = true;
    stdin.setRawMode(true);
    stdout.write("\u001b[?1049h\u001b[?25l\u001b[?7l");
  };
  const putBack = (): void => {
    if (!isTaken) return;
    isTaken = false;
    // Synchronous on a terminal: it is written before the process ends.
    stdout.write("\u001b[?7h\u001b[?25h\u001b[?1049l");
    stdin.setRawMode(false);
  };
  const suspend = (): void => {
    putBack();
    process.kill(process.pid, "SIGSTOP");
    // Taken here, since the signal to resume is handled only after the next redraw.
    take();
  };
  // After an external SIGSTOP the shell owns the terminal.
  const goOn = (): void => {
    isTaken = false;
    take();
    push("resize");
  };
  const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
  const ends = Object.entries(signals).map(([signal, exitCode]) => ({
    signal,
    run: () => {
      putBack();
      onKilled(exitCode);
    },
  }));
  const onResize = (): void => push("resize");
  const onPressed = (_text: string | undefined, key: Key): void => {
    const name = nameOf(key);
    if (name !== null) push(name);
  };
  emitKeypressEvents(stdin);
  stdin.on("keypress", onPressed);
  stdin.resume();
  stdout.on("resize", onResize);
  process.on("SIGCONT", goOn);
  process.on("SIGTSTP", suspend);
  process.on("exit", putBack);
  for (const { signal, run } of ends) process.on(signal, run);
  take();
  return {
    size: () => ({ columns: stdout.columns, rows: stdout.rows }),
    // Each line is cleared before its text: after a full line the cursor is still on its last
    // character, which would be cleared.
    draw: (lines) =>
      void stdout.write(
        `\u001b[H${lines.map((line) => `\u001b[K${escapeControls(line)}`).join("\r\n")}`,
      ),
    nextKey: (withinMs) =>
      new Promise((resolve) => {
        const end = (): void => {
          clearTimeout(timer);
          wake = null;
          resolve(keys.shift() ?? null);
        };
        const timer = setTimeout(end, withinMs);
        wake = end;
        if (keys.length > 0) end();
      }),
    suspend,
    close() {
      putBack();
      stdin.off("keypress", onPressed);
      stdin.pause();
      stdout.off("resize", onResize);
      process.off("SIGCONT", goOn);
      process.off("SIGTSTP", suspend);
      process.off("exit", putBack);
      for (const { signal, run } of ends) process.off(signal, run);
    },
  };
}

function nameOf({ name, ctrl = false, sequence = "" }: Key): string | null {
  if (ctrl) return name === undefined ? null : `ctrl-${name}`;
  if (name === "return" || name === "enter") return "enter";
  if (name !== undefined && name.length > 1 && name !== "space") return name;
  return sequence === "" ? null : sequence;
}
