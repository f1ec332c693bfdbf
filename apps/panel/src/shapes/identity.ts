import { ArrayMaxSize, ArrayMinSize, ArrayUnique, IsArray, IsBoolean, IsIn, IsOptional } from 'class-validator';
import { Id, Instant, Text } from '#contracts/billing/fields.js';
import { NAME_LENGTH_MAX } from '#contracts/rules/bounds.js';

/** One thing that a caller may do. One that ends with `.read` is included in the permission without that ending. */
export type Permission =
  | 'usage.read'
  | 'requests.read'
  | 'models.read'
  | 'playground'
  | 'projects'
  | 'keys'
  | 'budgets'
  | 'notifications'
  | 'notifications.read'
  | 'money.read'
  | 'money.write'
  | 'payments'
  | 'accounts'
  | 'upstreams'
  | 'upstreams.read'
  | 'catalog'
  | 'catalog.read'
  | 'ledger'
  | 'ledger.read'
  | 'audit.read'
  | 'members'
  | 'members.read'
  | 'tokens';

/** All permissions. */
export const PERMISSIONS = Object.keys({
  'usage.read': true,
  'requests.read': true,
  'models.read': true,
  playground: true,
  projects: true,
  keys: true,
  budgets: true,
  notifications: true,
  'notifications.read': true,
  'money.read': true,
  'money.write': true,
  payments: true,
  accounts: true,
  upstreams: true,
  'upstreams.read': true,
  catalog: true,
  'catalog.read': true,
  ledger: true,
  'ledger.read': true,
  'audit.read': true,
  members: true,
  'members.read': true,
  tokens: true,
} satisfies Record<Permission, true>) as Permission[];

/** Roles of the whole platform. */
export type PlatformRole = 'admin' | 'auditor';
/** Roles in one account. */
export type AccountRole = 'owner' | 'finance' | 'developer' | 'viewer';
/** Roles in one project. Their names differ from those of an account, so that no reader takes one for the other. */
export type ProjectRole = 'project-developer' | 'project-member' | 'project-viewer';
export type Role = PlatformRole | AccountRole | ProjectRole;

const EVERY_ROLE: Record<Role, true> = {
  admin: true,
  auditor: true,
  owner: true,
  finance: true,
  developer: true,
  viewer: true,
  'project-developer': true,
  'project-member': true,
  'project-viewer': true,
};
export const ROLES = Object.keys(EVERY_ROLE) as Role[];

/** Longer than any e-mail or password, so that a hash never gets more. */
const CREDENTIAL_MAX = 1_000;
/** Characters of the JSON of a passkey. */
const PASSKEY_MAX = 20_000;

/** A role of a person: on the whole platform when `accountId` is null, in the whole account when `projectId` is. */
export interface Grant {
  accountId: string | null;
  projectId: string | null;
  role: Role;
  /** Everything the role allows, `.read` forms included. */
  permissions: Permission[];
}

/** A person. Reply of `POST /session`, `POST /invites/accept` and `PATCH /me`. */
export interface Me {
  userId: string;
  email: string;
  name: string;
  createdAt: string;
  grants: Grant[];
  /** False for a person who signs in with a provider alone. */
  hasPassword: boolean;
}

/** `GET /me`. */
export interface MeReply extends Me {
  /** Address at which programs reach the gateway, without `/v1`. */
  gatewayUrl: string;
  /** Page of one trace in the tracing back end, with `{traceId}` in the place of its id; null if there is none, or for people of single accounts. */
  traceUrl: string | null;
}

// `PATCH /me`. Replies `Me`. A new password ends all other sessions.
export class MeUpdateRequest {
  @IsOptional() @Text(NAME_LENGTH_MAX) name?: string;
  @IsOptional() @Text(CREDENTIAL_MAX) password?: string;
  /** Required with `password`. */
  @IsOptional() @Text(CREDENTIAL_MAX) currentPassword?: string;
}

/** Proof of the second factor, sent with the password: one of the two. */
export class SecondProof {
  /** A code of the app, or a recovery code. */
  @IsOptional() @Text(CREDENTIAL_MAX) code?: string;
  /** JSON of the browser's answer to `passkeyOptions`. */
  @IsOptional() @Text(PASSKEY_MAX) passkey?: string;
}

// `POST /session`. Sets the cookie. Without the second factor of a person who has one: `second_factor_required`.
export class SignInRequest extends SecondProof {
  @Text(CREDENTIAL_MAX) email!: string;
  @Text(CREDENTIAL_MAX) password!: string;
}

// `POST /session/confirm`. Replies `Session` and replaces the cookie.
export class ConfirmRequest {
  @Text(CREDENTIAL_MAX) password!: string;
}

/** `GET /me/second-factors`: what the person shows beside the password, oldest first. */
export interface SecondFactorListReply {
  factors: SecondFactor[];
  recoveryCodesLeft: number;
  /** False where browsers allow none: the panel's address is an IP address. */
  allowsPasskeys: boolean;
}

export interface SecondFactor {
  factorId: string;
  /** `app`: the six digits of an authenticator app. */
  kind: 'app' | 'passkey';
  name: string;
  createdAt: string;
  usedAt: string | null;
}

/** `POST /me/second-factors/app`: a new secret. It counts once `POST /me/second-factors` has proved that the app has it. */
export interface NewAppSecret {
  /** In base32, to be typed. */
  secret: string;
  /** `otpauth:` address, for a QR code. */
  uri: string;
}

/** `POST /me/second-factors/passkey`. */
export interface NewPasskeyOptions {
  /** JSON for the browser's `navigator.credentials.create`. */
  options: string;
}

// `POST /me/second-factors`: `secret` and `code` of an app, or `passkey`. Replies `AddedSecondFactor`.
export class SecondFactorAddRequest extends SecondProof {
  @Text(NAME_LENGTH_MAX) name!: string;
  /** As `POST /me/second-factors/app` replied it. */
  @IsOptional() @Text(100) secret?: string;
}

export interface AddedSecondFactor {
  factor: SecondFactor;
  /** With the first factor, shown once. Null: the person has some. */
  recoveryCodes: string[] | null;
}

/** `POST /me/recovery-codes`: new ones in the place of the former, shown once. */
export interface RecoveryCodesReply {
  recoveryCodes: string[];
}

/** `GET /session` replies the one of the cookie. */
export interface Session {
  sessionId: string;
  createdAt: string;
  /**
   * The last time that the person typed their password, here or at a provider. Routes that need a confirmation accept it for 10 minutes.
   * Null: the provider did not say when it asked the person.
   */
  confirmedAt: string | null;
  seenAt: string;
  /** Ends earlier after 30 minutes without a request. */
  expiresAt: string;
  address: string;
  userAgent: string | null;
  isCurrent: boolean;
}

/** `GET /sessions`, newest first. */
export interface SessionListReply {
  sessions: Session[];
}

/** `GET /members?accountId&limit&cursor`: people with a role in the account or a project of it, or without `accountId` on the platform or anywhere. */
export interface MemberListReply {
  members: Member[];
  nextCursor: string | null;
}

export interface Member {
  userId: string;
  email: string;
  name: string;
  createdAt: string;
  /** Moment since which the person cannot sign in. */
  disabledAt: string | null;
  /** Roles that the caller may see. */
  grants: Grant[];
}

// `PATCH /members/{userId}`. Replies `Member`. A change of a role ends the person's sessions.
export class MemberUpdateRequest {
  /** The role's account. Absent: the platform. */
  @IsOptional() @Id() accountId?: string;
  /** The role's project, which needs its account. Absent: the whole account. */
  @IsOptional() @Id() projectId?: string;
  @IsOptional() @IsIn(ROLES) role?: Role;
  /** Only for admins. A disabled person cannot sign in, and their tokens are refused. */
  @IsOptional() @IsBoolean() disabled?: boolean;
}

// `DELETE /members/{userId}?accountId&projectId` removes the person's role there.

/** `GET /invites?accountId&limit&cursor`: open invites, newest first. */
export interface InviteListReply {
  invites: Invite[];
  nextCursor: string | null;
  mail: MailState;
}

/** The mail server, as the replica that replies saw it last. */
export interface MailState {
  /** False: the panel sends no mail. */
  isSetUp: boolean;
  /** Its answer to the last mail that it did not accept. Null: it accepted the last one. */
  failure: string | null;
  failingSince: string | null;
}

export interface Invite {
  inviteId: string;
  /** Null: the person who opens the link types it. */
  email: string | null;
  accountId: string | null;
  projectId: string | null;
  role: Role;
  /** `user/<id>` or `cli/<os-user>@<host>`. */
  invitedBy: string;
  createdAt: string;
  expiresAt: string;
}

// `POST /invites`. Replies `SentInvite`.
export class InviteCreateRequest {
  @Text(CREDENTIAL_MAX) email!: string;
  /** Absent: the platform. */
  @IsOptional() @Id() accountId?: string;
  /** For a role of a project, which must be one of the account. With `members` on the platform the account may be left out. */
  @IsOptional() @Id() projectId?: string;
  @IsIn(ROLES) role!: Role;
}

export interface CreatedInvite extends Invite {
  /** Works once, within 24 hours. Shown once. */
  link: string;
}

/** Reply of `POST /invites`. */
export interface SentInvite extends CreatedInvite {
  /** True: the link is on its way by mail too. */
  isMailed: boolean;
}

// `POST /invites/show`, without a session: the invite of a link. Replies `InviteView`.
export class InviteShowRequest {
  /** The part of the link after `#`. */
  @Text(100) token!: string;
}

export interface InviteView {
  email: string | null;
  accountId: string | null;
  projectId: string | null;
  role: Role;
  expiresAt: string;
  /**
   * The password that accepts the invite, the same whether the e-mail has a person or not. `new-password`: a new one. `new-or-present`: the
   * present one, or for a new person a new one. `sign-in`: the present one; a new person signs in with a provider. `none`: sign in with a
   * provider. A sign-in with a provider that has verified this e-mail accepts the invite too.
   */
  password: 'new-password' | 'new-or-present' | 'sign-in' | 'none';
}

// `POST /invites/accept`, without a session. Signs in and replies `Me`.
export class InviteAcceptRequest extends SecondProof {
  @Text(100) token!: string;
  /** Only for an invite without an e-mail. */
  @IsOptional() @Text(CREDENTIAL_MAX) email?: string;
  /** For a new person. Default: the part of the e-mail before `@`. */
  @IsOptional() @Text(NAME_LENGTH_MAX) name?: string;
  @Text(CREDENTIAL_MAX) password!: string;
}

/** `GET /tokens?accountId&limit&cursor`, newest first, expired and revoked tokens included. */
export interface TokenListReply {
  tokens: Token[];
  nextCursor: string | null;
}

export interface Token {
  tokenId: string;
  name: string;
  lastFour: string;
  accountId: string | null;
  permissions: Permission[];
  /** The maker's user id. The token never has more permissions than its maker has. */
  createdBy: string;
  createdAt: string;
  expiresAt: string;
  revokedAt: string | null;
  /** To the minute. */
  usedAt: string | null;
}

// `POST /tokens`. Replies `CreatedToken`.
export class TokenCreateRequest {
  /** Repeating it with the same id is a `conflict`, because the token is shown once. Default: a new id. */
  @IsOptional() @Id() tokenId?: string;
  @Text(NAME_LENGTH_MAX) name!: string;
  /** Absent: the platform. */
  @IsOptional() @Id() accountId?: string;
  /** Not `members` or `tokens`, nor any that the caller has not. */
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(PERMISSIONS.length)
  @ArrayUnique()
  @IsIn(PERMISSIONS, { each: true })
  permissions!: Permission[];
  /** At most 366 days ahead. */
  @Instant() expiresAt!: string;
}

export interface CreatedToken extends Token {
  /** The whole token, `tg_adm_…`, shown once. */
  token: string;
}

// `DELETE /tokens/{tokenId}` revokes the token permanently and replies `Token`.

/** `GET /sso`, without a session: the ways to sign in. */
export interface SignInWays {
  /** False while people sign in with a provider alone. */
  passwords: boolean;
  /** In the order of their names. `/sso/{name}/start` leads to one. */
  providers: SignInProvider[];
}

export interface SignInProvider {
  name: string;
  /** The provider's name for people. */
  label: string;
}

// Query of `GET /sso/{provider}/start`.
export class SsoStartRequest {
  /** Page of the panel to which the browser comes back: `/panel/…`. */
  @IsOptional() @Text(1_000) returnTo?: string;
  /** `true`: the person proves again who they are, although the provider has a session of theirs. */
  @IsOptional() @IsIn(['true']) confirm?: string;
}

/**
 * Reason of a failed sign-in, in the parameter `sso` of the page to which the browser comes back, beside `request`, the request id.
 * `expired`: this browser did not begin the sign-in, or too long ago. `refused`: the provider said no, or its answer was not for this
 * sign-in. `unverified`: the provider has not verified the e-mail. `no-access`: the person is unknown, disabled, or without a role.
 * `unavailable`: the provider does not answer as it should. `too-many`: too many failed sign-ins. `internal`: the panel itself failed.
 */
export type SsoFailure = 'expired' | 'refused' | 'unverified' | 'no-access' | 'unavailable' | 'too-many' | 'internal';
