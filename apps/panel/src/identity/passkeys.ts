import { isIP } from 'node:net';
import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';

type Factor = Prisma.PanelSecondFactorModel;

/** Milliseconds for which a challenge can be answered. */
const CHALLENGE_MS = 5 * 60_000;

/** A passkey as the database keeps it. */
export type NewPasskey = Pick<Factor, 'credentialId' | 'publicKey' | 'signCount'>;

/** The exchange with a browser that makes a passkey or asks for one. It belongs to the host of the panel's address. */
export class Passkeys {
  private readonly host: string;

  constructor(
    private readonly prisma: PrismaClient,
    private readonly panelUrl: string,
  ) {
    this.host = new URL(panelUrl).hostname;
  }

  /** False where browsers allow none: at an IP address. */
  get areAllowed(): boolean {
    return isIP(this.host.replace(/^\[|\]$/g, '')) === 0;
  }

  /** Returns the JSON with which the browser makes a passkey. */
  async optionsToMake(person: { id: string; email: string }, present: readonly Factor[]): Promise<string> {
    const options = await generateRegistrationOptions({
      rpName: 'Tollgate',
      rpID: this.host,
      userName: person.email,
      userID: new TextEncoder().encode(person.id),
      excludeCredentials: listIds(present),
      authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
    });
    await this.keepChallenge(person.id, options.challenge);
    return JSON.stringify(options);
  }

  /** Returns the passkey that a browser has made; undefined when its answer is not to a challenge of this person, or is malformed. */
  async readNew(userId: string, answer: string): Promise<NewPasskey | undefined> {
    const read = await verifying(() =>
      verifyRegistrationResponse({ response: JSON.parse(answer), ...this.expected(userId), requireUserVerification: false }),
    );
    if (!read?.verified) return undefined;
    const { id, publicKey, counter } = read.registrationInfo.credential;
    return { credentialId: id, publicKey: new Uint8Array(publicKey), signCount: BigInt(counter) };
  }

  /** Returns the JSON with which the browser asks for one of these passkeys. */
  async optionsToAsk(userId: string, factors: readonly Factor[]): Promise<string> {
    const options = await generateAuthenticationOptions({
      rpID: this.host,
      allowCredentials: listIds(factors),
      userVerification: 'preferred',
    });
    await this.keepChallenge(userId, options.challenge);
    return JSON.stringify(options);
  }

  /** Returns the passkey that has signed the answer, and its new count; undefined when none of these has. */
  async findSigner(userId: string, factors: readonly Factor[], answer: string): Promise<{ factor: Factor; signCount: bigint } | undefined> {
    const response = parseAnswer(answer);
    const factor = factors.find(({ credentialId }) => credentialId === response?.id);
    if (!response || !factor?.credentialId || !factor.publicKey) return undefined;
    const credential = { id: factor.credentialId, publicKey: factor.publicKey, counter: Number(factor.signCount) };
    const read = await verifying(() =>
      verifyAuthenticationResponse({ response, ...this.expected(userId), credential, requireUserVerification: false }),
    );
    return read?.verified ? { factor, signCount: BigInt(read.authenticationInfo.newCounter) } : undefined;
  }

  private expected(userId: string) {
    return {
      expectedOrigin: this.panelUrl,
      expectedRPID: this.host,
      expectedChallenge: async (challenge: string): Promise<boolean> => {
        const where = { challenge, userId, expiresAt: { gt: new Date() } };
        return (await this.prisma.panelPasskeyChallenge.deleteMany({ where })).count === 1;
      },
    };
  }

  private async keepChallenge(userId: string, challenge: string): Promise<void> {
    await this.prisma.panelPasskeyChallenge.deleteMany({ where: { userId, expiresAt: { lt: new Date() } } });
    await this.prisma.panelPasskeyChallenge.create({ data: { challenge, userId, expiresAt: new Date(Date.now() + CHALLENGE_MS) } });
  }
}

function listIds(factors: readonly Factor[]): { id: string }[] {
  return factors.flatMap(({ credentialId }) => (credentialId === null ? [] : [{ id: credentialId }]));
}

type Answer = Parameters<typeof verifyAuthenticationResponse>[0]['response'];

function parseAnswer(text: string): Answer | undefined {
  try {
    return JSON.parse(text) as Answer;
  } catch {
    return undefined;
  }
}

/** The library throws for every fault of an answer. An error of the database is none, and goes on. */
async function verifying<Read>(verify: () => Promise<Read>): Promise<Read | undefined> {
  try {
    return await verify();
  } catch (error) {
    if (error instanceof Error && error.name.startsWith('PrismaClient')) throw error;
    return undefined;
  }
}
