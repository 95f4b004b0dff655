-- delegation_named(ctx, person, name): a delegation of a person by name, { name, fields, at }; or nil.
local function delegation_named(ctx, person, name)
  for _, one in ipairs(delegations_of(ctx, person)) do  -- at most 16: delegations of a person
    if one.name == name then return one end
  end
end
