/** The frame of a page's content: its heading, cards, and what stands where there is nothing. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { PolledValue } from "../data/poll.js";
import { shellTexts } from "../texts/shell-texts.js";
import { useApp } from "./app.js";
import { Icon, type IconName } from "./icon.js";

/** The heading takes the focus when its page is opened, so that a screen reader begins there. */
export function PageHead({
  title,
  children,
  actions,
}: {
  readonly title: string;
  /** What the page is for, in a sentence. */
  readonly children?: ComponentChildren;
  readonly actions?: ComponentChildren;
}) {
  const { router } = useApp();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · ${shellTexts.product}`;
    // Not at the first page: the browser's own focus is right there.
    if (router.hasMoved) heading.current?.focus({ preventScroll: true });
  }, [title, router]);
  return (
    <header class="page-head">
      <div>
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {children !== undefined && <p>{children}</p>}
      </div>
      {actions !== undefined && <div class="page-actions">{actions}</div>}
    </header>
  );
}

export function Card({
  title,
  note,
  children,
}: {
  readonly title?: string;
  /** Beside the title: a unit, an age, a link. */
  readonly note?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <section class="card">
      {title !== undefined && (
        <div class="card-head">
          <h2>{title}</h2>
          {note !== undefined && <span class="soft small">{note}</span>}
        </div>
      )}
      {children}
    </section>
  );
}

/** Where a list has nothing: why, and what to do. */
export function Empty({
  icon,
  title,
  children,
  action,
}: {
  readonly icon: IconName;
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly action?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <strong>{title}</strong>
      {children !== undefined && <p>{children}</p>}
      {action}
    </div>
  );
}

/** The gateway's messages begin as they are written into others. */
function sentence(message: string): string {
  return message.charAt(0).toUpperCase() + message.slice(1);
}

/** The answer's content; until there is one, lines in its place, or why there is none. */
export function WhenReady<T>({
  polled,
  onRetry,
  children,
}: {
  readonly polled: PolledValue<T>;
  readonly onRetry: () => void;
  readonly children: (body: T) => ComponentChildren;
}) {
  if (polled.body !== null) return <>{children(polled.body)}</>;
  if (polled.problem !== null)
    return (
      <Empty
        icon="alert"
        title={polled.problem.status === 404 ? shellTexts.failed.unknown : shellTexts.failed.title}
        action={
          <button type="button" class="button" onClick={onRetry}>
            {shellTexts.failed.retry}
          </button>
        }
      >
        {sentence(polled.problem.message)}
      </Empty>
    );
  return (
    <div role="img" aria-label={shellTexts.loading}>
      {[62, 84, 71, 78].map((width) => (
        <span class="skeleton" key={width} style={{ width: `${width}%` }} />
      ))}
    </div>
  );
}
