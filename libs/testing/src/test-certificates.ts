import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';

/** PEM texts. */
export interface TestCertificate {
  cert: string;
  key: string;
}

interface Issuer extends TestCertificate {
  name: string;
  privateKey: KeyObject;
}

/** A certificate authority for tests. */
export class TestAuthority {
  private readonly issuer: Issuer;

  constructor(name = 'Test authority') {
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const certificate = certify({ subject: name, issuer: name, publicKey: pair.publicKey, signer: pair.privateKey, isAuthority: true });
    this.issuer = { name, privateKey: pair.privateKey, cert: certificate, key: keyPem(pair.privateKey) };
  }

  /** Certificate of the authority. */
  get cert(): string {
    return this.issuer.cert;
  }

  /** `hosts` are names and addresses. An expired certificate ended yesterday. Its key is an elliptic one unless `isRsa`. */
  issue(subject: string, { isRsa, ...options }: { hosts?: string[]; isExpired?: boolean; isRsa?: boolean } = {}): TestCertificate {
    const { publicKey, privateKey } = isRsa
      ? generateKeyPairSync('rsa', { modulusLength: 2_048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { name: issuer, privateKey: signer } = this.issuer;
    return { cert: certify({ subject, issuer, publicKey, signer, ...options }), key: keyPem(privateKey) };
  }
}

interface Content {
  subject: string;
  issuer: string;
  publicKey: KeyObject;
  signer: KeyObject;
  hosts?: string[];
  isExpired?: boolean;
  isAuthority?: boolean;
}

const DAY_MS = 86_400_000;

/** RFC 5280, section 4.1. */
function certify({ subject, issuer, publicKey, signer, hosts = [], isExpired = false, isAuthority = false }: Content): string {
  const algorithm = sequence(oid('1.2.840.10045.4.3.2')); // ECDSA with SHA-256
  const until = Date.now() + (isExpired ? -DAY_MS : 365 * DAY_MS);
  const extensions = [extension('2.5.29.19', isAuthority ? sequence(TRUE) : sequence())]; // basic constraints
  if (hosts.length > 0) extensions.push(extension('2.5.29.17', sequence(...hosts.map(alternativeName))));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.of(2))), // version 3
    der(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)])), // serial number
    algorithm,
    commonName(issuer),
    sequence(time(Date.now() - 2 * DAY_MS), time(until)),
    commonName(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  );
  const signature = sign('sha256', body, signer);
  return pem('CERTIFICATE', sequence(body, algorithm, der(0x03, Buffer.of(0), signature)));
}

const TRUE = Buffer.of(0x01, 0x01, 0xff);

function der(tag: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

function sequence(...contents: Buffer[]): Buffer {
  return der(0x30, ...contents);
}

function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = rest.flatMap((part) => {
    const groups = [part & 127];
    for (let left = part >> 7; left > 0; left >>= 7) groups.unshift((left & 127) | 128);
    return groups;
  });
  return der(0x06, Buffer.of(first * 40 + second, ...bytes));
}

function commonName(name: string): Buffer {
  return sequence(der(0x31, sequence(oid('2.5.4.3'), der(0x0c, Buffer.from(name)))));
}

function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/[-:T]|\..*/g, '');
  return der(0x17, Buffer.from(`${digits.slice(2)}Z`));
}

function extension(id: string, value: Buffer): Buffer {
  return sequence(oid(id), der(0x04, value));
}

function alternativeName(host: string): Buffer {
  if (isIP(host) === 4) return der(0x87, Buffer.from(host.split('.').map(Number)));
  return der(0x82, Buffer.from(host));
}

function keyPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').replace(/.{1,64}/g, '$&\n');
  return `-----BEGIN ${label}-----\n${lines}-----END ${label}-----\n`;
}
