/**
 * Keyboard shortcuts. Ctrl-K opens the search. Single keys: `/` focuses the filter, `g` and a
 * letter opens a page, `?` lists all shortcuts. Users can switch single keys off; they are off
 * while a text is typed.
 */
import type { FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { hrefOf } from "./data/router.js";
import type { PageEntry } from "./pages.js";
import { useApp } from "./parts/app.js";
import { Dialog } from "./parts/dialog.js";
import { CheckField } from "./parts/field.js";
import { shellTexts } from "./texts/shell-texts.js";

const texts = shellTexts.shortcuts;
/** How long `g` waits for its letter. */
const chordMs = 1_200;

export function ShortcutKeys({ entries }: { readonly entries: readonly PageEntry[] }) {
  const { preferences, router } = useApp();
  const areOn = preferences.shortcuts.value;
  useEffect(() => {
    if (!areOn) return undefined;
    let chordUntilMs = 0;
    const onKey = (event: KeyboardEvent): void => {
      if (isWriting(event)) return;
      const isInChord = event.timeStamp < chordUntilMs;
      chordUntilMs = !isInChord && event.key === "g" ? event.timeStamp + chordMs : 0;
      const page = isInChord ? entries.find(({ key }) => key === event.key) : undefined;
      if (page !== undefined) router.go(hrefOf(page.path));
      else if (event.key === "?") preferences.showShortcuts(true);
      else if (event.key === "/") focusFilter();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [areOn, entries, router, preferences]);
  return (
    <>
      <Finder entries={entries} />
      {preferences.shortcutsShown.value && <ShortcutList entries={entries} />}
    </>
  );
}

type Finding = FunctionComponent<{
  readonly pages: readonly { readonly text: string; readonly href: string }[];
  readonly onClose: () => void;
}>;

/** The search for pages. Its code is loaded when it is first opened. */
function Finder({ entries }: { readonly entries: readonly PageEntry[] }) {
  const { preferences, toasts } = useApp();
  const isShown = preferences.finderShown.value;
  const [Palette, setPalette] = useState<Finding | null>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isAsked = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey);
      if (!isAsked || event.shiftKey || event.altKey) return;
      event.preventDefault();
      if (document.querySelector("dialog[open]") === null) preferences.showFinder(true);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [preferences]);
  useEffect(() => {
    if (!isShown || Palette !== null) return;
    import("./parts/palette.js").then(
      (loaded) => setPalette(() => loaded.Palette),
      () => toasts.failed(shellTexts.brokenPage.text),
    );
  }, [isShown, Palette, toasts]);
  if (!isShown || Palette === null) return null;
  const pages = entries.map(({ name, path }) => ({
    text: shellTexts.pages[name],
    href: hrefOf(path),
  }));
  return <Palette pages={pages} onClose={() => preferences.showFinder(false)} />;
}

function ShortcutList({ entries }: { readonly entries: readonly PageEntry[] }) {
  const { preferences } = useApp();
  const areOn = preferences.shortcuts.value;
  return (
    <Dialog title={texts.title} onClose={() => preferences.showShortcuts(false)}>
      <div class="form">
        <dl class="shortcuts">
          {texts.rows.map(([key, meaning]) => (
            <ShortcutRow key={key} keys={[key]} meaning={meaning} />
          ))}
          {entries.map(({ name, key }) => (
            <ShortcutRow
              key={name}
              keys={["g", key]}
              meaning={texts.goTo(shellTexts.pages[name])}
            />
          ))}
          <ShortcutRow keys={["?"]} meaning={texts.help} />
        </dl>
        <CheckField
          label={texts.on}
          checked={areOn}
          onChange={(on) => preferences.useShortcuts(on)}
        />
      </div>
    </Dialog>
  );
}

function ShortcutRow({
  keys,
  meaning,
}: {
  readonly keys: readonly string[];
  readonly meaning: string;
}) {
  return (
    <div>
      <dt>{meaning}</dt>
      <dd>
        {keys.map((key, i) => (
          <span key={key}>
            {i > 0 && <span class="soft small"> {texts.then} </span>}
            <kbd>{key}</kbd>
          </span>
        ))}
      </dd>
    </div>
  );
}

function isWriting({ target, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  if (ctrlKey || metaKey || altKey) return true;
  if (document.querySelector("dialog[open]") !== null) return true;
  return target instanceof Element && target.closest("input, select, textarea") !== null;
}

function focusFilter(): void {
  document.querySelector<HTMLInputElement>("[data-filter]")?.focus();
}
