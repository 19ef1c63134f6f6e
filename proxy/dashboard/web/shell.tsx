/** The frame around every page: navigation, banners, the page itself, toasts. */
import type { FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { hrefOf } from "./data/router.js";
import { Navigation, PhoneBar } from "./navigation.js";
import { SignInPage } from "./pages/sign-in/sign-in-page.js";
import { firstOf, type PageEntry, pagesFor } from "./pages.js";
import { useApp } from "./parts/app.js";
import { Icon } from "./parts/icon.js";
import { Empty, PageHead } from "./parts/page.js";
import { Toasts } from "./parts/toasts.js";
import { ShortcutKeys } from "./shortcut-keys.js";
import { shellTexts as texts } from "./texts/shell-texts.js";

export function Shell() {
  const { session, toasts } = useApp();
  const who = session.session.value;
  if (who === null) return <Waiting />;
  return (
    <>
      {who.kind === "none" ? <SignInPage /> : <SignedIn entries={pagesFor(who)} />}
      <Toasts list={toasts} />
    </>
  );
}

function SignedIn({ entries }: { readonly entries: readonly PageEntry[] }) {
  const { live, router, session } = useApp();
  const { page } = router.place.value;
  const who = session.session.value;
  const isLive = who?.kind !== "self";
  useEffect(() => (isLive ? live.start() : undefined), [live, isLive]);
  const entry =
    entries.find(
      ({ path, isFolder }) => path === page || (isFolder && page.startsWith(`${path}/`)),
    ) ?? (page === "" ? firstOf(entries) : undefined);
  return (
    <div class="shell">
      <a class="skip" href="#content">
        {texts.skip}
      </a>
      <Navigation entries={entries} current={entry?.name ?? null} />
      <PhoneBar entries={entries} current={entry?.name ?? null} />
      <main class="content" id="content">
        <Banners />
        <div class="page">
          {entry === undefined ? <NotFound path={page} /> : <LoadedPage entry={entry} />}
        </div>
      </main>
      <ShortcutKeys entries={entries} />
    </div>
  );
}

type PageState =
  | { readonly kind: "loading" }
  | { readonly kind: "broken" }
  | { readonly kind: "page"; readonly entry: PageEntry; readonly Page: FunctionComponent };

/** The code of a page is loaded when the page is first opened. */
function LoadedPage({ entry }: { readonly entry: PageEntry }) {
  const [loaded, setLoaded] = useState<PageState>({ kind: "loading" });
  useEffect(() => {
    let isWanted = true;
    entry.load?.().then(
      (Page) => isWanted && setLoaded({ kind: "page", entry, Page }),
      () => isWanted && setLoaded({ kind: "broken" }),
    );
    return () => {
      isWanted = false;
    };
  }, [entry]);
  if (loaded.kind === "broken") return <BrokenPage />;
  return loaded.kind === "page" && loaded.entry === entry ? <loaded.Page /> : null;
}

function BrokenPage() {
  return (
    <Empty
      icon="alert"
      title={texts.brokenPage.title}
      action={
        <button type="button" class="button" onClick={() => location.reload()}>
          {texts.brokenPage.reload}
        </button>
      }
    >
      {texts.brokenPage.text}
    </Empty>
  );
}

function NotFound({ path }: { readonly path: string }) {
  return (
    <>
      <PageHead title={texts.notFound.title}>{texts.notFound.text(path)}</PageHead>
      <a class="button" href={hrefOf("")}>
        {texts.notFound.back}
      </a>
    </>
  );
}

function Banners() {
  const { connection, session } = useApp();
  const state = connection.state.value;
  return (
    <>
      {state !== "ok" && (
        <div class={state === "unreachable" ? "banner bad" : "banner warn"} role="alert">
          <Icon name="alert" />
          {state === "unreachable" ? texts.gatewayAway : texts.daemonAway}
        </div>
      )}
      {session.session.value?.kind === "open" && (
        <div class="banner">
          <Icon name="lock" />
          {texts.openGateway}
        </div>
      )}
    </>
  );
}

/** Until the signed-in user is known: nothing, or the problem. */
function Waiting() {
  const { session } = useApp();
  const problem = session.problem.value;
  if (problem === null) return null;
  return (
    <main class="page">
      <Empty
        icon="alert"
        title={texts.failed.title}
        action={
          <button type="button" class="button" onClick={() => void session.load()}>
            {texts.failed.retry}
          </button>
        }
      >
        {problem.message}
      </Empty>
    </main>
  );
}
