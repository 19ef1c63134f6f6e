/** The preferences that this browser stores: the theme, and whether single keys are shortcuts. */
import { type ReadonlySignal, signal } from "@preact/signals";
import { applyTheme, type Memory, readTheme, type Theme, themeKey } from "./theme.js";

const shortcutsKey = "sluice.shortcuts";

export class Preferences {
  readonly #memory: Memory;
  readonly #root: HTMLElement;
  readonly #theme;
  readonly #shortcuts;
  readonly #shortcutsShown = signal(false);
  readonly #finderShown = signal(false);

  constructor(memory: Memory, root: HTMLElement) {
    this.#memory = memory;
    this.#root = root;
    this.#theme = signal<Theme>(readTheme(memory));
    this.#shortcuts = signal(memory?.getItem(shortcutsKey) !== "off");
  }

  get theme(): ReadonlySignal<Theme> {
    return this.#theme;
  }

  get shortcuts(): ReadonlySignal<boolean> {
    return this.#shortcuts;
  }

  /** Whether the list of shortcuts is open. */
  get shortcutsShown(): ReadonlySignal<boolean> {
    return this.#shortcutsShown;
  }

  showShortcuts(shown: boolean): void {
    this.#shortcutsShown.value = shown;
  }

  /** Whether the search for pages is open. */
  get finderShown(): ReadonlySignal<boolean> {
    return this.#finderShown;
  }

  showFinder(shown: boolean): void {
    this.#finderShown.value = shown;
  }

  chooseTheme(theme: Theme): void {
    this.#theme.value = theme;
    applyTheme(theme, this.#root);
    this.#keep(themeKey, theme);
  }

  useShortcuts(on: boolean): void {
    this.#shortcuts.value = on;
    this.#keep(shortcutsKey, on ? "on" : "off");
  }

  #keep(key: string, value: string): void {
    try {
      this.#memory?.setItem(key, value);
    } catch {
      // The storage is full or forbidden: the choice applies until the page is closed.
    }
  }
}
