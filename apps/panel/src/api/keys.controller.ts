import { Controller, Req } from '@nestjs/common';
import {
  ChildKeyListRequest,
  ChildKeyMintRequest,
  ChildKeyRevokeRequest,
  childKeyList,
  childKeyMint,
  childKeyRevoke,
} from '#contracts/billing/child-keys.js';
import {
  KeyCreateRequest,
  KeyListRequest,
  KeyRevokeRequest,
  KeyRotateRequest,
  KeyUpdateRequest,
  keyCreate,
  keyList,
  keyRevoke,
  keyRotate,
  keyUpdate,
} from '#contracts/billing/keys.js';
import { Handles, Input } from '../http/route.decorator.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import { Services } from '../services/services.js';
import type {
  ApiKey,
  ChildKeyListReply,
  CreatedKey,
  KeyListReply,
  MintedChildKey,
  RevokedChildKeys,
  RotatedKey,
} from '../shapes/billing.js';
import { ownedKey, ownedProject } from './owned.js';

@Controller()
export class KeysController {
  constructor(private readonly services: Services) {}

  @Handles('listKeys')
  list(@Input(KeyListRequest) query: KeyListRequest): Promise<KeyListReply> {
    return this.services.ask(keyList, query);
  }

  @Handles('listProjectKeys')
  async listForProject(@Req() request: PanelRequest, @Input(KeyListRequest) query: KeyListRequest): Promise<KeyListReply> {
    await ownedProject(this.services, requireCaller(request).access, 'usage.read', query.projectId ?? '');
    return this.services.ask(keyList, query);
  }

  @Handles('createKey')
  async create(@Req() request: PanelRequest, @Input(KeyCreateRequest) message: KeyCreateRequest): Promise<CreatedKey> {
    await ownedProject(this.services, requireCaller(request).access, 'keys', message.projectId);
    return this.services.change(request, keyCreate, message);
  }

  @Handles('updateKey')
  async update(@Req() request: PanelRequest, @Input(KeyUpdateRequest) message: KeyUpdateRequest): Promise<ApiKey> {
    await ownedKey(this.services, requireCaller(request).access, 'keys', message.keyId);
    return this.services.change(request, keyUpdate, message);
  }

  @Handles('rotateKey')
  async rotate(@Req() request: PanelRequest, @Input(KeyRotateRequest) message: KeyRotateRequest): Promise<RotatedKey> {
    await ownedKey(this.services, requireCaller(request).access, 'keys', message.keyId);
    return this.services.change(request, keyRotate, message);
  }

  @Handles('revokeKey')
  async revoke(@Req() request: PanelRequest, @Input(KeyRevokeRequest) message: KeyRevokeRequest): Promise<ApiKey> {
    await ownedKey(this.services, requireCaller(request).access, 'keys', message.keyId);
    return this.services.change(request, keyRevoke, message);
  }

  @Handles('listChildKeys')
  async listChildren(@Req() request: PanelRequest, @Input(ChildKeyListRequest) query: ChildKeyListRequest): Promise<ChildKeyListReply> {
    await ownedKey(this.services, requireCaller(request).access, 'usage.read', query.keyId);
    return this.services.askingFor(request).ask(childKeyList, query);
  }

  @Handles('createChildKey')
  async mintChild(@Req() request: PanelRequest, @Input(ChildKeyMintRequest) message: ChildKeyMintRequest): Promise<MintedChildKey> {
    await ownedKey(this.services, requireCaller(request).access, 'keys', message.keyId);
    return this.services.change(request, childKeyMint, message);
  }

  @Handles('revokeChildKey')
  async revokeChild(@Req() request: PanelRequest, @Input(ChildKeyRevokeRequest) message: ChildKeyRevokeRequest): Promise<RevokedChildKeys> {
    await ownedKey(this.services, requireCaller(request).access, 'keys', message.keyId);
    return this.services.change(request, childKeyRevoke, message);
  }
}
