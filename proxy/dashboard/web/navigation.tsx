/** The list of pages: beside the content, or in a drawer on a phone. */
import { useState } from "preact/hooks";
import type { SignedIn } from "../../../shared/api/session-status.js";
import { hrefOf } from "./data/router.js";
import { type Theme, themes } from "./data/theme.js";
import { formatDuration } from "./logic/numbers.js";
import type { PageEntry, PageName } from "./pages.js";
import { useApp } from "./parts/app.js";
import { Dialog } from "./parts/dialog.js";
import { Icon } from "./parts/icon.js";
import { shellTexts as texts } from "./texts/shell-texts.js";

interface NavigationProps {
  readonly entries: readonly PageEntry[];
  readonly current: PageName | null;
}

export function Navigation({ entries, current }: NavigationProps) {
  const { preferences } = useApp();
  const groups = Object.entries(texts.groups)
    .map(([key, title]) => ({ key, title, pages: entries.filter(({ group }) => group === key) }))
    .filter(({ pages }) => pages.length > 0);
  return (
    <header class="side">
      <a class="brand" href={hrefOf("")}>
        <Icon name="gate" />
        {texts.product}
      </a>
      <button
        type="button"
        class="button find"
        aria-keyshortcuts="Control+K"
        onClick={() => preferences.showFinder(true)}
      >
        <Icon name="search" />
        {texts.palette.open}
        <span class="keys small" aria-hidden="true">
          {texts.palette.keys}
        </span>
      </button>
      <nav aria-label={texts.navigation}>
        {groups.map(({ key, title, pages }) => (
          <div class="nav-group" key={key}>
            <h2>{title}</h2>
            <ul>
              {pages.map((page) => (
                <li key={page.name}>
                  <a
                    class="nav-link"
                    href={hrefOf(page.path)}
                    aria-current={page.name === current ? "page" : undefined}
                  >
                    <Icon name={page.icon} />
                    {texts.pages[page.name]}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </nav>
      <SideFoot />
    </header>
  );
}

/** On a phone: the name, and a button that opens the list. */
export function PhoneBar(props: NavigationProps) {
  const { preferences } = useApp();
  const [isOpen, setOpen] = useState(false);
  return (
    <header class="phone-bar">
      <a class="brand" href={hrefOf("")}>
        <Icon name="gate" />
        {texts.product}
      </a>
      <button
        type="button"
        class="button ghost square"
        aria-label={texts.palette.open}
        onClick={() => preferences.showFinder(true)}
      >
        <Icon name="search" />
      </button>
      <button
        type="button"
        class="button ghost square"
        aria-label={texts.openMenu}
        aria-expanded={isOpen}
        onClick={() => setOpen(true)}
      >
        <Icon name="menu" />
      </button>
      {isOpen && (
        <Dialog title={texts.navigation} look="drawer" onClose={() => setOpen(false)}>
          {/* A link within closes it, however it is followed. */}
          {/* biome-ignore lint/a11y: the links are what is used; this hears of them */}
          <div
            onClick={({ target }) =>
              target instanceof Element && target.closest("a") !== null && setOpen(false)
            }
          >
            <Navigation {...props} />
          </div>
        </Dialog>
      )}
    </header>
  );
}

function SideFoot() {
  const { preferences, session } = useApp();
  const who = session.session.value;
  const theme = preferences.theme.value;
  const next = themes[(themes.indexOf(theme) + 1) % themes.length]!;
  return (
    <div class="side-foot">
      {who?.kind !== "self" && <Pulse />}
      {(who?.kind === "admin" || who?.kind === "self") && (
        <div class="pulse">
          <Icon name="user" />
          {texts.signedInAs(nameOf(who))}
        </div>
      )}
      <div class="side-tools">
        <button
          type="button"
          class="button ghost square"
          title={texts.theme[theme]}
          aria-label={texts.theme[theme]}
          onClick={() => preferences.chooseTheme(next)}
        >
          <Icon name={themeIcons[theme]} />
        </button>
        <button
          type="button"
          class="button ghost square"
          title={texts.shortcuts.open}
          aria-label={texts.shortcuts.open}
          onClick={() => preferences.showShortcuts(true)}
        >
          <Icon name="keyboard" />
        </button>
        {(who?.kind === "admin" || who?.kind === "self") && (
          <button
            type="button"
            class="button ghost square"
            title={texts.signOut}
            aria-label={texts.signOut}
            onClick={() => void session.signOut()}
          >
            <Icon name="signOut" />
          </button>
        )}
      </div>
    </div>
  );
}

function nameOf(who: Extract<SignedIn, { readonly kind: "admin" | "self" }>): string {
  if (who.kind === "self") return who.key_name ?? who.user_path;
  return who.name === null ? texts.admin : texts.role(who.name, who.role, who.path);
}

const themeIcons = { system: "monitor", light: "sun", dark: "moon" } as const satisfies Record<
  Theme,
  string
>;

/** How long ago the daemon last answered; a warning if that is more than two polls ago. */
function Pulse() {
  const { clock, connection, live } = useApp();
  const nowMs = clock.nowMs.value;
  const { heardMs } = live.live.value;
  const age = formatDuration(Math.max(0, nowMs - heardMs) / 1000);
  const isStale = nowMs - heardMs > 12_000;
  const state = connection.state.value;
  const look = state === "unreachable" ? "bad" : state === "daemon-away" || isStale ? "warn" : "";
  return (
    <div class="pulse">
      <span class={`dot ${look}`} />
      {heardMs === 0 ? texts.connecting : look === "" ? texts.heard(age) : texts.stale(age)}
    </div>
  );
}
