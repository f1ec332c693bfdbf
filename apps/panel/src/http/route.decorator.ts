import {
  applyDecorators,
  createParamDecorator,
  type ExecutionContext,
  HttpCode,
  RequestMapping,
  RequestMethod,
  SetMetadata,
} from '@nestjs/common';
import type { PanelRequest } from '../requests/panel-request.js';
import { parseInput } from './input.js';
import { API_PREFIX, findRoute, type Route, type RouteName } from './routes.js';

/** Key of the metadata with the route of a handler. */
const ROUTE = 'panel:route';

/**
 * Binds a method to an endpoint of the route table: its path, status and permission. Guards check the permission before the body is read.
 *
 * ```ts
 * @Handles('listSessions')
 * list(@Req() request: PanelRequest): Promise<SessionList> { … }
 * ```
 */
export function Handles(name: RouteName): MethodDecorator {
  const route: Route = findRoute(name);
  return applyDecorators(
    RequestMapping({ method: RequestMethod[route.method], path: `${API_PREFIX}${route.path}` }),
    HttpCode(route.status ?? 200),
    SetMetadata(ROUTE, route),
  );
}

/** Returns the request of a call, and the route of the method that handles it. */
export function readCall(context: ExecutionContext): { request: PanelRequest; route: Route } {
  return { request: context.switchToHttp().getRequest(), route: Reflect.getMetadata(ROUTE, context.getHandler()) };
}

/**
 * Gives a method of a controller its message, checked by the class: ids from the path, the other fields from the query of a `GET`, else
 * from the body.
 *
 * ```ts
 * @Handles('createProject')
 * create(@Req() request: PanelRequest, @Input(ProjectCreateRequest) message: ProjectCreateRequest): Promise<Project> { … }
 * ```
 */
export function Input(type: new () => object): ParameterDecorator {
  return input(type);
}

const input = createParamDecorator((type: new () => object, context: ExecutionContext) => parseInput(type, readCall(context).request));
