/** The files other than modules that the bundler imports. */
declare module "*.css";
