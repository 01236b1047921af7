import { Access, accessOfGrants, type Decision, type Grant, type Mode, type Use } from './access.ts';
import { Answers } from './answers.ts';
import { Backoff, isUnavailable } from './backoff.ts';
import { ageOf, type Moment, moment } from './clock.ts';
import { GuardError } from './errors.ts';
import type { Service } from './service.ts';
import type { SessionClaims } from './token.ts';

/** What a guard knows about a session at this moment. */
export type Known = {
  /** When the service last answered. Null if it never did. */
  checkedAt: Date | null;
  /** `token`: the service does not answer, and the grants of the token decide. */
  from: 'service' | 'token';
  /** `unknown`: the session may have been revoked in the meantime. */
  revocation: 'checked' | 'unknown';
  /** Null if the service never answered; then the guard enforces. */
  mode: Mode | null;
};

/** A session token that was verified, with what it may use. */
export interface GuardedSession {
  readonly id: string;
  /** `user:<id>` or `service_account:<tenant>/<id>`. */
  readonly subject: string;
  readonly token: string;
  readonly expiresAt: Date;
  readonly known: Known;
  /**
   * Whether the exact name is permitted by what is known now. It asks nobody. False means "not known": only `decide` denies.
   * False as well if what is known is too old; `refresh` reads it again.
   */
  allows(use: Use): boolean;
  /**
   * Decides. Permitted names are decided here, and the service is asked about all others, which it counts.
   *
   * @throws GuardError
   */
  decide(use: Use & { attempts?: number }): Promise<Decision>;
  /**
   * Leaves out the items that may not be used, such as tools that a model should not see. It is never counted, and it hides
   * nothing in the mode `observe`. It decides nothing, so use `decide` before each use.
   */
  filter<Item>(items: readonly Item[], useOf: (item: Item) => Use): Item[];
  /**
   * Reads what the session may use, unless it was read a short time ago.
   *
   * @throws GuardError
   */
  refresh(): Promise<void>;
}

export type Credential = { token: string; claims: SessionClaims; grants: readonly Grant[] | null };

export type SessionOptions = {
  service: Service;
  freshMs: number;
  trustLastAnswerMs: number;
  offline: boolean;
  /** Opens another session in place of this one. */
  reopen?: () => Promise<Credential>;
};

/** The longest names that the service decides about. */
const MAX_PROVIDER_LENGTH = 256;
const MAX_NAME_LENGTH = 512;

/** The part of its life after which an opened session is replaced, and how often that is tried. */
const RENEW_AT = 0.8;
const RENEWAL_RETRY_MS = 5000;

type List = { access: Access; etag: string | null; mode: Mode; complete: boolean; at: Moment };

export class Session implements GuardedSession {
  readonly #options: SessionOptions;
  readonly #answers: Answers;
  /** Only failed reads let the last answer count for longer, because an agent can make single questions fail on purpose. */
  readonly #reads = new Backoff();
  readonly #questions = new Backoff();
  #credential: Credential;
  #fromToken: Access | null;
  #endsAt: number;
  #list: List | null = null;
  #ended: GuardError | null = null;
  #renewalFailed: Moment | null = null;
  #reading: Promise<void> | null = null;

  constructor(credential: Credential, options: SessionOptions) {
    this.#options = options;
    this.#answers = new Answers(options.freshMs);
    this.#credential = credential;
    this.#fromToken = accessFrom(credential, options);
    this.#endsAt = credential.claims.exp * 1000;
  }

  get id(): string {
    return this.#credential.claims.jti;
  }

  get subject(): string {
    return this.#credential.claims.sub;
  }

  get token(): string {
    return this.#credential.token;
  }

  get expiresAt(): Date {
    return new Date(this.#endsAt);
  }

  get known(): Known {
    const isChecked = this.#list !== null && ageOf(this.#list.at) < this.#options.freshMs;
    return {
      checkedAt: this.#list && new Date(this.#list.at.wall),
      from: this.#usableList() === null && this.#isOffline() ? 'token' : 'service',
      revocation: isChecked ? 'checked' : 'unknown',
      mode: this.#list?.mode ?? null,
    };
  }

  allows(use: Use): boolean {
    if (this.#ended !== null || Date.now() >= this.#endsAt) return false;
    const list = this.#usableList();
    if (list !== null) return list.access.has(use);
    // The last list of the service stays a limit, because the token may grant items that were blocked after it was issued.
    return this.#isOffline() && this.#fromToken?.has(use) === true && this.#list?.access.has(use) !== false;
  }

  filter<Item>(items: readonly Item[], useOf: (item: Item) => Use): Item[] {
    const isHidden = this.#list === null || (this.#list.mode === 'enforce' && this.#list.complete);
    if (!isHidden) return [...items];
    const access = this.#list?.access ?? this.#fromToken;
    return items.filter((item) => access?.has(useOf(item)) === true);
  }

  async decide({ attempts = 1, ...use }: Use & { attempts?: number }): Promise<Decision> {
    await this.refresh();
    const mode = this.#list?.mode ?? 'enforce';
    if (this.allows(use)) return permitted(mode);
    if (use.provider.length > MAX_PROVIDER_LENGTH || use.name.length > MAX_NAME_LENGTH) return tooLong(mode);
    return this.#answers.of(use, attempts, (unreported) => this.#ask({ ...use, attempts: unreported }));
  }

  async refresh(): Promise<void> {
    if (this.#ended !== null) throw this.#ended;
    const isFresh = this.#list !== null && ageOf(this.#list.at) < this.#options.freshMs;
    if (isFresh && !this.#isRenewalDue() && Date.now() < this.#endsAt) return;
    this.#reading ??= this.#readOrTrust().finally(() => {
      this.#reading = null;
    });
    await this.#reading;
  }

  /** Reads the list. If the service does not answer, what is known may decide for a while. */
  async #readOrTrust(): Promise<void> {
    try {
      await this.#reads.run(async () => {
        const expired = new GuardError('ended', 'The session has expired.', { reason: 'expired' });
        if (Date.now() >= this.#endsAt) await this.#replace(expired);
        else if (this.#isRenewalDue()) await this.#renew();
        await this.#withToken((token) => this.#read(token));
      });
    } catch (error) {
      const isTrusted = this.#usableList() !== null || (this.#isOffline() && this.#fromToken !== null);
      if (!isUnavailable(error) || !isTrusted || Date.now() >= this.#endsAt) throw error;
    }
  }

  async #read(token: string): Promise<void> {
    const at = moment();
    const answer = await this.#options.service.view(token, this.#list?.etag ?? null);
    if (answer.changed) {
      const { mode, complete, providers, expiresAt } = answer.view;
      this.#list = { access: new Access(providers), etag: answer.etag, mode, complete, at };
      this.#setEnd(expiresAt);
    } else if (this.#list !== null) {
      this.#list = { ...this.#list, mode: answer.mode, at };
      this.#setEnd(answer.expiresAt);
    }
  }

  /** The service may end a session earlier than its token says, and never later. */
  #setEnd(expiresAt: string): void {
    const end = Date.parse(expiresAt);
    const latest = this.#credential.claims.exp * 1000;
    this.#endsAt = Number.isNaN(end) ? latest : Math.min(end, latest);
  }

  #ask(question: Use & { attempts: number }): Promise<Decision> {
    return this.#questions.run(() => this.#withToken((token) => this.#options.service.decide(token, question)));
  }

  /** Sends a request with the token, and once more with the token of a new session if a block has ended the session. */
  async #withToken<Answer>(request: (token: string) => Promise<Answer>): Promise<Answer> {
    try {
      return await request(this.token);
    } catch (error) {
      if (!(error instanceof GuardError) || isUnavailable(error)) throw error;
      await this.#replace(error);
      return request(this.token);
    }
  }

  /** Opens another session in place of an ended one, if that is permitted. Otherwise the end is final. */
  async #replace(error: GuardError): Promise<void> {
    const isReplaceable = error.code === 'ended' && (error.reason === 'item_blocked' || error.reason === 'expired');
    if (this.#options.reopen === undefined || !isReplaceable) {
      this.#ended = error;
      throw error;
    }
    this.#adopt(await this.#options.reopen());
  }

  /** Opens the next session before this one expires. This one is used until that succeeds. */
  async #renew(): Promise<void> {
    try {
      const next = await this.#options.reopen?.();
      if (next !== undefined) this.#adopt(next);
    } catch {
      this.#renewalFailed = moment();
    }
  }

  #adopt(credential: Credential): void {
    this.#renewalFailed = null;
    this.#credential = credential;
    this.#fromToken = accessFrom(credential, this.#options);
    this.#endsAt = credential.claims.exp * 1000;
  }

  #isRenewalDue(): boolean {
    if (this.#options.reopen === undefined) return false;
    if (this.#renewalFailed !== null && ageOf(this.#renewalFailed) < RENEWAL_RETRY_MS) return false;
    const { iat, exp } = this.#credential.claims;
    return Date.now() / 1000 >= iat + RENEW_AT * (exp - iat);
  }

  /** The list while it may decide: a short time, and longer only if the service has failed since. */
  #usableList(): List | null {
    if (this.#list === null) return null;
    const { freshMs, trustLastAnswerMs } = this.#options;
    const maxAge = this.#reads.isFailing ? freshMs + trustLastAnswerMs : freshMs;
    return ageOf(this.#list.at) < maxAge ? this.#list : null;
  }

  #isOffline(): boolean {
    return this.#options.offline && this.#reads.isFailing;
  }
}

function accessFrom({ grants }: Credential, { offline }: SessionOptions): Access | null {
  return offline && grants !== null ? accessOfGrants(grants) : null;
}

function permitted(mode: Mode): Decision {
  return { allowed: true, wouldDeny: false, mode, reason: null, observationId: null, reviewUrl: null };
}

/** Nothing with such a name can be declared. */
function tooLong(mode: Mode): Decision {
  return { ...permitted(mode), allowed: mode === 'observe', wouldDeny: true, reason: 'not_in_inventory' };
}
