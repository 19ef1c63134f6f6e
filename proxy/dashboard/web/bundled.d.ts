/** What the bundler takes beside modules. */
declare module "*.css";
