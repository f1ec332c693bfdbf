import { randomBytes, randomUUIDv7 } from 'node:crypto';
import type { Author } from '#database/audit-journal.js';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';
import { journaled } from '../audit/journaled.js';
import type { SummedRefusals } from '../audit/summed-refusals.js';
import { PanelError } from '../errors/panel-error.js';
import type { Caller } from '../requests/panel-request.js';
import type {
  AddedSecondFactor,
  NewAppSecret,
  NewPasskeyOptions,
  RecoveryCodesReply,
  SecondFactor,
  SecondFactorAddRequest,
  SecondFactorListReply,
  SecondProof,
} from '../shapes/identity.js';
import { findStep, makeAppSecret, parseAppSecret } from './authenticator-app.js';
import type { Passkeys } from './passkeys.js';
import { lockCaller } from './person-lock.js';
import { computeDigest } from './secret.js';
import { codeAttempt, type Throttle } from './throttle.js';

type Person = Prisma.PanelUserModel;
type Factor = Prisma.PanelSecondFactorModel;

/** Factors of a person. */
const FACTORS_MAX = 10;
const RECOVERY_CODES = 10;

/**
 * Second factors, which people show beside the password: a code of an authenticator app, a passkey, or for a lost one a recovery code. People
 * who sign in with a provider show theirs there.
 */
export class SecondFactors {
  /** `signIns`: connections for people who sign in. */
  constructor(
    private readonly prisma: PrismaClient,
    private readonly signIns: PrismaClient,
    private readonly passkeys: Passkeys,
    private readonly throttle: Throttle,
    private readonly refusals: SummedRefusals,
  ) {}

  /**
   * Demands the second factor of a person whose password, or link in its place, was right. A person without one passes.
   * @throws {PanelError} `second_factor_required` when none was sent, `invalid_credentials`, `rate_limit_exceeded`
   */
  async demand(person: Person, { code, passkey }: SecondProof, author: Author): Promise<void> {
    const factors = await this.signIns.panelSecondFactor.findMany({ where: { userId: person.id } });
    if (factors.length === 0) return;
    if (code === undefined && passkey === undefined) throw await this.requirement(person.id, factors);
    // A passkey cannot be guessed, so only codes count.
    const isRight =
      passkey !== undefined
        ? await this.takePasskey(person.id, factors, passkey)
        : await this.throttle.run(codeAttempt(person.id), async (forget) => {
            const isTaken = await this.takeCode(person.id, factors, code ?? '');
            if (isTaken) await forget();
            return isTaken;
          });
    if (isRight) return;
    await this.refusals.record(author, { action: 'session.refuse', target: `user/${person.id}` }, { by: `factor ${person.id}` });
    const message = passkey === undefined ? 'The code is wrong, or was used before.' : 'The passkey was not accepted. Try again.';
    throw new PanelError('invalid_credentials', message, { param: passkey === undefined ? 'code' : 'passkey' });
  }

  async list({ userId }: Caller): Promise<SecondFactorListReply> {
    const factors = await this.prisma.panelSecondFactor.findMany({ where: { userId }, orderBy: { id: 'asc' } });
    const recoveryCodesLeft = await this.prisma.panelRecoveryCode.count({ where: { userId } });
    return { factors: factors.map(renderFactor), recoveryCodesLeft, allowsPasskeys: this.passkeys.areAllowed };
  }

  makeAppSecret({ actorName }: Caller): NewAppSecret {
    return makeAppSecret(actorName ?? '');
  }

  /** @throws {PanelError} `invalid_request` at an IP address */
  async makePasskeyOptions({ userId, actorName }: Caller): Promise<NewPasskeyOptions> {
    if (!this.passkeys.areAllowed)
      throw new PanelError(
        'invalid_request',
        'Browsers allow passkeys only at a name, such as https://panel.example.com or http://localhost.',
      );
    const present = await this.prisma.panelSecondFactor.findMany({ where: { userId } });
    return { options: await this.passkeys.optionsToMake({ id: userId, email: actorName ?? '' }, present) };
  }

  /**
   * Adds a factor that has proved itself, and with the first one recovery codes.
   * @throws {PanelError} `invalid_request` for a wrong code or passkey, `permission_denied` without a password, `conflict` beyond the most
   */
  async add(caller: Caller, body: SecondFactorAddRequest, author: Author): Promise<AddedSecondFactor> {
    const { userId } = caller;
    const proved = body.passkey !== undefined ? await this.readPasskey(userId, body.passkey) : readApp(body);
    return journaled(this.prisma, author, async (tx, record) => {
      await lockCaller(tx, caller);
      const { passwordHash } = await tx.panelUser.findUniqueOrThrow({ where: { id: userId } });
      if (passwordHash === null) throw new PanelError('permission_denied', 'You sign in with a provider alone: add it there.');
      const present = await tx.panelSecondFactor.count({ where: { userId } });
      if (present >= FACTORS_MAX) throw new PanelError('conflict', `A person has at most ${FACTORS_MAX} of them. Remove one first.`);
      const data = { id: randomUUIDv7(), userId, name: body.name, createdAt: new Date(), ...proved };
      const row = await tx.panelSecondFactor.create({ data });
      await record({ action: 'factor.add', target: `user/${userId}`, after: { kind: row.kind, name: row.name } });
      return { factor: renderFactor(row), recoveryCodes: present === 0 ? await replaceCodes(tx, userId) : null };
    });
  }

  /** Removes a factor, and with the last one the recovery codes. @throws {PanelError} `not_found` */
  async remove(caller: Caller, factorId: string, author: Author): Promise<void> {
    const { userId } = caller;
    await journaled(this.prisma, author, async (tx, record) => {
      await lockCaller(tx, caller);
      const row = await tx.panelSecondFactor.findFirst({ where: { id: factorId, userId } });
      if (!row) throw new PanelError('not_found', 'There is no such app or passkey.');
      await tx.panelSecondFactor.delete({ where: { id: factorId } });
      if ((await tx.panelSecondFactor.count({ where: { userId } })) === 0) await tx.panelRecoveryCode.deleteMany({ where: { userId } });
      await record({ action: 'factor.remove', target: `user/${userId}`, before: { kind: row.kind, name: row.name } });
    });
  }

  /** Replaces the recovery codes. @throws {PanelError} `conflict` without a factor */
  async makeRecoveryCodes(caller: Caller, author: Author): Promise<RecoveryCodesReply> {
    const { userId } = caller;
    return journaled(this.prisma, author, async (tx, record) => {
      await lockCaller(tx, caller);
      if ((await tx.panelSecondFactor.count({ where: { userId } })) === 0)
        throw new PanelError('conflict', 'Add an app or a passkey first.');
      await record({ action: 'factor.make-codes', target: `user/${userId}` });
      return { recoveryCodes: await replaceCodes(tx, userId) };
    });
  }

  /** Removes all factors of a person who has lost them. Returns their number. */
  async reset(userId: string, author: Author): Promise<number> {
    return journaled(this.prisma, author, async (tx, record) => {
      const { count } = await tx.panelSecondFactor.deleteMany({ where: { userId } });
      await tx.panelRecoveryCode.deleteMany({ where: { userId } });
      if (count > 0) await record({ action: 'factor.reset', target: `user/${userId}`, before: { factors: count } });
      return count;
    });
  }

  private async requirement(userId: string, factors: readonly Factor[]): Promise<PanelError> {
    const keys = factors.filter(({ kind }) => kind === 'passkey');
    const ways = ['code', ...(keys.length > 0 && this.passkeys.areAllowed ? ['passkey'] : [])];
    const passkeyOptions = ways.includes('passkey') ? await this.passkeys.optionsToAsk(userId, keys) : undefined;
    const details = { ways: ways.join(' '), ...(passkeyOptions !== undefined && { passkeyOptions }) };
    return new PanelError('second_factor_required', 'Send the code of your app, a recovery code, or your passkey.', { details });
  }

  private async takePasskey(userId: string, factors: readonly Factor[], answer: string): Promise<boolean> {
    const signer = await this.passkeys.findSigner(userId, factors, answer);
    if (!signer) return false;
    await this.signIns.panelSecondFactor.updateMany({
      where: { id: signer.factor.id },
      data: { signCount: signer.signCount, usedAt: new Date() },
    });
    return true;
  }

  /** Takes a code of an app, which counts once, or a recovery code, which is gone then. */
  private async takeCode(userId: string, factors: readonly Factor[], typed: string): Promise<boolean> {
    const code = typed.replaceAll(/[\s-]/g, '').toLowerCase();
    for (const { id, appSecret } of factors) {
      const step = appSecret === null ? undefined : findStep(appSecret, code);
      if (step === undefined) continue;
      const where = { id, appStep: { lt: step } };
      const taken = await this.signIns.panelSecondFactor.updateMany({ where, data: { appStep: step, usedAt: new Date() } });
      if (taken.count === 1) return true;
    }
    const { count } = await this.signIns.panelRecoveryCode.deleteMany({ where: { userId, digest: computeDigest(code) } });
    return count === 1;
  }

  private async readPasskey(userId: string, answer: string) {
    const passkey = await this.passkeys.readNew(userId, answer);
    if (!passkey) throw new PanelError('invalid_request', 'The passkey was not accepted. Try again.', { param: 'passkey' });
    return { kind: 'passkey', ...passkey };
  }
}

/** Returns an app whose code proves that it has the secret. */
function readApp({ secret = '', code = '' }: SecondFactorAddRequest) {
  const appSecret = parseAppSecret(secret);
  if (!appSecret) throw new PanelError('invalid_request', 'secret is not one that this panel has made', { param: 'secret' });
  const appStep = findStep(appSecret, code.replaceAll(' ', ''));
  if (appStep === undefined)
    throw new PanelError('invalid_request', 'This is not the present code of the app. Check the clock of its device.', { param: 'code' });
  return { kind: 'app', appSecret, appStep };
}

/** Makes new recovery codes of 80 bits. */
async function replaceCodes(tx: Prisma.TransactionClient, userId: string): Promise<string[]> {
  const codes = Array.from({ length: RECOVERY_CODES }, () => randomBytes(10).toString('hex'));
  await tx.panelRecoveryCode.deleteMany({ where: { userId } });
  await tx.panelRecoveryCode.createMany({ data: codes.map((code) => ({ userId, digest: computeDigest(code) })) });
  return codes.map((code) => code.replace(/.{5}(?=.)/g, '$&-'));
}

function renderFactor({ id, kind, name, createdAt, usedAt }: Factor): SecondFactor {
  return {
    factorId: id,
    kind: kind as SecondFactor['kind'],
    name,
    createdAt: createdAt.toISOString(),
    usedAt: usedAt?.toISOString() ?? null,
  };
}
