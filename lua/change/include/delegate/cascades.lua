-- cascades(ctx, one): whether a request may be delegated on, by the delegation that led to its reviewer.
local function cascades(ctx, one)
  local giver, name = string.match(one.chain, '^.*>([^>]+)$'), string.match(one.via, '^.*>([^>:]*)[^>]*$')
  local led = giver and name ~= '' and delegation_named(ctx, giver, name)
  return not led or led.fields.cascade == '1'
end
