/**
 * The port for notices of a process to its supervisor, as in sd_notify(3). Not here: the receiver
 * and the transport.
 */

export interface Notice {
  /** The process serves. */
  readonly ready?: true;
  readonly reloading?: true;
  readonly stopping?: true;
  readonly watchdog?: true;
  /** One line for people. */
  readonly status?: string;
  /** Another process is the main process from now on. */
  readonly mainPid?: number;
}

export interface SupervisorNotices {
  /** Whether a supervisor accepts notices; without one, a successor isn't followed. */
  readonly accepted: boolean;
  /** Resolves with whether the supervisor has received it; never rejects. */
  send(notice: Notice): Promise<boolean>;
}

/** For a process without a supervisor. */
export const noNotices: SupervisorNotices = { accepted: false, send: () => Promise.resolve(false) };
