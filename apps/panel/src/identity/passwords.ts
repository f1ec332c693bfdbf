import { argon2 as argon2Callback, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN } from '#contracts/rules/bounds.js';
import { PanelError } from '../errors/panel-error.js';
import { COMMON_WORDS } from './common-words.js';

const argon2 = promisify(argon2Callback);

/** RFC 9106's parameters for a server with little memory: 19 MiB, two passes, one lane. */
const MEMORY_KIB = 19 * 1024;
const PASSES = 2;
const TAG_BYTES = 32;
const SALT_BYTES = 16;
/** One hash takes a processor for some 65 ms. Two at a time leave the rest of the machine alone. */
const AT_ONCE = 2;
/** Waiting sign-ins; more are refused, because they would wait for seconds. */
const WAITING_MAX = 64;

const STORED = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=1\$([\w+/]+)\$([\w+/]+)$/;

/** Throws for a password that is too short, too long or too common. */
export function checkNewPassword(password: string, email: string): void {
  const weakness = findWeakness(password, email);
  if (weakness !== undefined) throw new PanelError('invalid_request', weakness, { param: 'password' });
}

/** Returns why a password must not be chosen, if so. */
export function findWeakness(password: string, email: string): string | undefined {
  const length = [...password].length;
  if (length < PASSWORD_LENGTH_MIN) return `password must have at least ${PASSWORD_LENGTH_MIN} characters`;
  if (length > PASSWORD_LENGTH_MAX) return `password must have at most ${PASSWORD_LENGTH_MAX} characters`;
  const isCommon = isCommonPassword(password) || password.toLowerCase() === email;
  return isCommon ? 'password is among the first that an attacker tries; choose another' : undefined;
}

/** Hashes and verifies passwords with argon2id. */
export class Passwords {
  private running = 0;
  private readonly waiting: (() => void)[] = [];
  /** Hash of a random password, for sign-ins with an unknown e-mail. */
  private decoy: Promise<string> | undefined;

  /** `isOn` false: people sign in with a provider alone. */
  constructor(readonly isOn = true) {}

  /** @throws {PanelError} `permission_denied` while passwords are off */
  demandOn(): void {
    if (!this.isOn) throw new PanelError('permission_denied', 'Passwords are off in this panel. Sign in with a provider.');
  }

  /** Returns the password's hash with its parameters: `$argon2id$v=19$m=…,t=…,p=1$salt$tag`. */
  async hash(password: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES);
    const tag = await this.derive(password, salt, MEMORY_KIB, PASSES, TAG_BYTES);
    return `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=1$${encode(salt)}$${encode(tag)}`;
  }

  /** True when `stored` is the hash of the password. Without a hash it takes the same time and is false. */
  async verify(password: string, stored: string | null | undefined): Promise<boolean> {
    this.decoy ??= this.hash(randomBytes(SALT_BYTES).toString('hex'));
    const [, memory, passes, salt = '', tag = ''] = STORED.exec(stored ?? (await this.decoy)) ?? [];
    if (memory === undefined) throw new Error('a stored password hash is malformed');
    const expected = Buffer.from(tag, 'base64');
    const actual = await this.derive(password, Buffer.from(salt, 'base64'), Number(memory), Number(passes), expected.length);
    return timingSafeEqual(actual, expected) && typeof stored === 'string';
  }

  private async derive(password: string, nonce: Buffer, memory: number, passes: number, tagLength: number): Promise<Buffer> {
    await this.begin();
    try {
      return await argon2('argon2id', { message: password.normalize('NFKC'), nonce, memory, passes, parallelism: 1, tagLength });
    } finally {
      this.running--;
      this.waiting.shift()?.();
    }
  }

  private async begin(): Promise<void> {
    if (this.running >= AT_ONCE) {
      if (this.waiting.length >= WAITING_MAX) {
        throw new PanelError('rate_limit_exceeded', 'Too many sign-ins at once. Try again in a moment.', { retryAfterSeconds: 5 });
      }
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
    this.running++;
  }
}

/** Base64 without padding, as in the standard form of argon2 hashes. */
function encode(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}

const LETTER_OF: Record<string, string> = { '@': 'a', '4': 'a', '0': 'o', $: 's', '5': 's', '3': 'e', '1': 'i' };
const PERIOD_MAX = 5;

/**
 * True for a password of digits alone, for one of a few characters repeated, and for one or two common words with anything but letters
 * before or after them: `Password2027!!`, `ILoveJessica1`. Leaked passwords are mostly shorter than the least length; the longer ones have
 * these forms.
 */
export function isCommonPassword(password: string): boolean {
  const text = password.toLowerCase();
  const core = text.replace(/^[^a-z@$]+|[^a-z]+$/g, '').replace(/[@40$531]/g, (sign) => LETTER_OF[sign] ?? sign);
  return core === '' || isOneOrTwoWords(core) || isRepetition(text);
}

function isOneOrTwoWords(core: string): boolean {
  const isPair = (end: number): boolean => COMMON_WORDS.has(core.slice(0, end)) && COMMON_WORDS.has(core.slice(end));
  return COMMON_WORDS.has(core) || Array.from(core, (_, end) => end).some(isPair);
}

/** True for a text that repeats its first one to five characters. */
function isRepetition(text: string): boolean {
  return Array.from({ length: PERIOD_MAX }, (_, index) => index + 1).some((period) => text.slice(period) === text.slice(0, -period));
}
