-- domain_name(): the name of the domain, from its keys.
local function domain_name()
  return string.match(config, '^.*[:{]([^:{}]+)}?:config$')
end
