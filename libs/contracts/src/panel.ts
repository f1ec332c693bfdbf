import { IsBoolean, IsIn, IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { Id, type Paged, Text } from './billing/fields.js';
import { Endpoint } from './endpoint.js';

/** Roles of people: two for the whole platform, four for one account, three for one project. */
export const PANEL_ROLES = [
  'admin',
  'auditor',
  'owner',
  'finance',
  'developer',
  'viewer',
  'project-developer',
  'project-member',
  'project-viewer',
] as const;
export type PanelRole = (typeof PANEL_ROLES)[number];

export class PanelInviteRequest {
  @IsIn(PANEL_ROLES) role!: PanelRole;
  /** Required for roles of an account. Default for roles of a project: the account of the project. */
  @IsOptional() @Id() accountId?: string;
  /** Required for roles of a project. */
  @IsOptional() @Id() projectId?: string;
  /**
   * Default: the person who opens the link types it. A person who exists already chooses a new password with the link, which ends
   * their sessions and tokens.
   */
  @IsOptional() @Text(254) email?: string;
}

export interface PanelInviteReply {
  inviteId: string;
  /** Null: the person who opens the link types it. */
  email: string | null;
  accountId: string | null;
  projectId: string | null;
  role: PanelRole;
  /** Works once. */
  link: string;
  expiresAt: string;
}

export const panelInvite = new Endpoint<PanelInviteRequest, PanelInviteReply>('panel.v1.invite.create', PanelInviteRequest, {
  about: 'Makes a one-time link with which a person gets a role in the panel',
  isRecorded: true,
});

export class PanelUserListRequest {
  /** Only people with this role. */
  @IsOptional() @IsIn(PANEL_ROLES) role?: PanelRole;
  /** Rows on one page. Default 100. */
  @IsOptional() @IsInt() @Min(1) @Max(200) limit?: number;
  /** `nextCursor` of the page before. */
  @IsOptional() @Id() cursor?: string;
}

export interface PanelUser {
  userId: string;
  email: string;
  name: string;
  createdAt: string;
  /** Moment since which the person cannot sign in. */
  disabledAt: string | null;
  /** `accountId` is null for a role of the whole platform, `projectId` for one of a whole account. */
  grants: { accountId: string | null; projectId: string | null; role: PanelRole }[];
}

export interface PanelUserListReply extends Paged {
  users: PanelUser[];
}

export const panelUserList = new Endpoint<PanelUserListRequest, PanelUserListReply>('panel.v1.user.list', PanelUserListRequest, {
  about: 'People of the panel with their roles, newest first',
});

export class PanelUserUpdateRequest {
  @Text(254) email!: string;
  /** A disabled person cannot sign in, and their sessions and tokens end. */
  @IsBoolean() disabled!: boolean;
}

export const panelUserUpdate = new Endpoint<PanelUserUpdateRequest, PanelUser>('panel.v1.user.update', PanelUserUpdateRequest, {
  about: 'Keeps a person out of the panel, or lets them in again',
  isRecorded: true,
});

export class PanelFactorsResetRequest {
  @Text(254) email!: string;
}

export interface PanelFactorsResetReply {
  userId: string;
  /** Apps and passkeys that the person had. */
  factorsRemoved: number;
}

export const panelFactorsReset = new Endpoint<PanelFactorsResetRequest, PanelFactorsResetReply>(
  'panel.v1.second-factor.reset',
  PanelFactorsResetRequest,
  { about: 'Removes the second factors and recovery codes of a person who has lost them', isRecorded: true },
);

export class MailSendRequest {
  @Text(254) email!: string;
  /** The account that the mail is about. Absent: none. */
  @IsOptional() @Id() accountId?: string;
  /** One sentence, which is the subject too. */
  @Text(2_000) sentence!: string;
  /** Page of the panel that shows more. */
  @IsOptional() @Matches(/^[a-z]{1,30}$/) page?: string;
}

/** The outcome of one mail. */
export interface MailSendReply {
  accepted: boolean;
  /** Answer of the mail server, or why the mail was not sent. */
  answer: string;
  milliseconds: number;
}

/** The address must be of a person who may see the notifications of the account, or the mail is not sent. */
export const mailSend = new Endpoint<MailSendRequest, MailSendReply>('panel.v1.mail.send', MailSendRequest, {
  about: 'Mails one sentence about an account to one of its people, once',
});

export class PanelSessionsEndRequest {
  @Text(254) email!: string;
  /** True: the person's tokens go on working. Default: they are revoked. */
  @IsOptional() @IsBoolean() keepTokens?: boolean;
}

export interface PanelSessionsEndReply {
  userId: string;
  sessionsEnded: number;
  /** Tokens that the person had made and that still worked. */
  tokensEnded: number;
}

export const panelSessionsEnd = new Endpoint<PanelSessionsEndRequest, PanelSessionsEndReply>(
  'panel.v1.session.end',
  PanelSessionsEndRequest,
  { about: 'Ends all sessions of a person and revokes their tokens', isRecorded: true },
);
