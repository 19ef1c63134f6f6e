/** The frame of a page's content: heading, cards, and the placeholder of empty lists. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { PolledValue } from "../data/poll.js";
import { shellTexts } from "../texts/shell-texts.js";
import { useApp } from "./app.js";
import { Icon, type IconName } from "./icon.js";

/**
 * The heading of a page. It takes the focus when the page opens, so that a screen reader begins
 * there.
 */
export function PageHead({
  title,
  children,
  actions,
}: {
  readonly title: string;
  /** The purpose of the page, in a sentence. */
  readonly children?: ComponentChildren;
  readonly actions?: ComponentChildren;
}) {
  const { router } = useApp();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · ${shellTexts.product}`;
    // Not on the first page, where the browser sets the focus correctly.
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
  /** A note beside the title: a unit, an age, a link. */
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

/** The placeholder of an empty list: why it is empty, and what to do. */
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

/** A message of the gateway, which begins in lower case, as a sentence. */
function sentence(message: string): string {
  return message.charAt(0).toUpperCase() + message.slice(1);
}

/** Renders the content of an answer. Until then it renders placeholder lines, or the problem. */
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
