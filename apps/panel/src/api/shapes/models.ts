import type { CatalogApplyReply, CatalogApplyRequest, CatalogModel, ModelListReply } from '#contracts/catalog.js';

/** `GET /models`: enabled models with capabilities and prices, and the revision of the catalog. */
export type { CatalogApplyReply, CatalogModel, ModelListReply };

/** `POST /catalog/apply`. Replies `CatalogApplyReply`. */
export type CatalogApplyBody = CatalogApplyRequest;
