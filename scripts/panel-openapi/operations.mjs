import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import ts from 'typescript';
import { SchemaWriter } from '../asyncapi/json-schema.mjs';

const ROUTES = 'apps/panel/src/http/routes.ts';
const ERRORS = 'apps/panel/src/errors/panel-error.ts';
const ERROR_BODY = 'apps/panel/src/shapes/error.ts';
const CONTROLLERS = 'apps/panel/src/api';

/**
 * Reads the panel's API: `routes` by name, `handlers` (the methods with `@Handles`) with the JSON schemas of what they take and return,
 * `errors` by code, and the named `schemas`.
 */
export function readPanel() {
  const { config } = ts.readConfigFile('tsconfig.json', (file) => readFileSync(file, 'utf8'));
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, process.cwd());
  const controllers = ts.sys.readDirectory(CONTROLLERS, ['.controller.ts']);
  const program = ts.createProgram([ROUTES, ERRORS, ERROR_BODY, ...controllers], { ...options, noEmit: true });
  const checker = program.getTypeChecker();
  const writer = new SchemaWriter(checker);
  const routes = readLiteral(constantIn(program.getSourceFile(ROUTES), 'ROUTES', checker), checker);
  const errors = readLiteral(constantIn(program.getSourceFile(ERRORS), 'PANEL_ERROR_CODES', checker), checker);
  const handlers = controllers.flatMap((path) => {
    const file = program.getSourceFile(path);
    const classes = file.statements.filter(ts.isClassDeclaration);
    return classes.flatMap((controller) =>
      controller.members
        .filter(ts.isMethodDeclaration)
        .flatMap((method) => findHandler(method, basename(path, '.controller.ts'), checker, writer)),
    );
  });
  writer.renderSchema(exportedType(program.getSourceFile(ERROR_BODY), 'PanelErrorBody', checker));
  return { routes, errors, handlers, schemas: writer.schemas() };
}

function findHandler(method, tag, checker, writer) {
  const route = findDecorator(method, 'Handles')?.arguments[0]?.text;
  if (route === undefined) return [];
  const inputs = Object.fromEntries(
    ['Input', 'Body', 'Query'].flatMap((name) => {
      const parameter = method.parameters.find((one) => findDecorator(one, name));
      return parameter ? [[name, writer.renderSchema(checker.getTypeAtLocation(parameter))]] : [];
    }),
  );
  const returned = checker.getReturnTypeOfSignature(checker.getSignatureFromDeclaration(method));
  const reply = checker.getAwaitedType(returned) ?? returned;
  const comment = ts.displayPartsToString(checker.getSymbolAtLocation(method.name).getDocumentationComment(checker));
  return [{ route, tag, comment, inputs, reply: reply.flags & ts.TypeFlags.Void ? undefined : writer.renderSchema(reply) }];
}

function findDecorator(node, name) {
  const calls = (ts.getDecorators(node) ?? []).map(({ expression }) => expression).filter(ts.isCallExpression);
  return calls.find(({ expression }) => expression.getText() === name);
}

function constantIn(file, name, checker) {
  const declarations = file.statements.filter(ts.isVariableStatement).flatMap(({ declarationList }) => declarationList.declarations);
  return checker.getTypeAtLocation(declarations.find((declaration) => declaration.name.getText() === name));
}

function exportedType(file, name, checker) {
  const declaration = file.statements.find((statement) => ts.isInterfaceDeclaration(statement) && statement.name.text === name);
  return checker.getTypeAtLocation(declaration);
}

/** Returns the value of a constant of literals, from its type. */
function readLiteral(type, checker) {
  if (type.isStringLiteral() || type.isNumberLiteral()) return type.value;
  if (type.flags & ts.TypeFlags.BooleanLiteral) return checker.typeToString(type) === 'true';
  return Object.fromEntries(
    type.getProperties().map((property) => [property.name, readLiteral(checker.getTypeOfSymbol(property), checker)]),
  );
}
