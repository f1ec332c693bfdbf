import { Secret, TOTP } from 'otpauth';

/** Bytes of a secret, as long as the tag of HMAC-SHA1 (RFC 4226). */
const SECRET_BYTES = 20;
const PERIOD_SECONDS = 30;
const CODE = /^\d{6}$/;
const SECRET = /^[A-Z2-7]{32}$/;

/** A secret that an authenticator app takes: in base32 to be typed, and as the address of a QR code. */
export function makeAppSecret(email: string): { secret: string; uri: string } {
  const app = open(new Secret({ size: SECRET_BYTES }), email);
  return { secret: app.secret.base32, uri: app.toString() };
}

/** Returns the bytes of a secret in base32; undefined for any other text. */
export function parseAppSecret(text: string): Uint8Array<ArrayBuffer> | undefined {
  const secret = text.replaceAll(' ', '').toUpperCase();
  return SECRET.test(secret) ? new Uint8Array(Secret.fromBase32(secret).bytes) : undefined;
}

/**
 * Returns the step of 30 seconds whose code this is: the present one, or the one before or after it for clocks that differ (RFC 6238).
 * Undefined: it is no code of these.
 */
export function findStep(secret: Uint8Array<ArrayBuffer>, code: string): bigint | undefined {
  if (!CODE.test(code)) return undefined;
  const timestamp = Date.now();
  const delta = open(new Secret({ buffer: secret.buffer })).validate({ token: code, timestamp, window: 1 });
  return delta === null ? undefined : BigInt(Math.floor(timestamp / 1_000 / PERIOD_SECONDS) + delta);
}

function open(secret: Secret, label = ''): TOTP {
  return new TOTP({ issuer: 'Tollgate', label, algorithm: 'SHA1', digits: 6, period: PERIOD_SECONDS, secret });
}
