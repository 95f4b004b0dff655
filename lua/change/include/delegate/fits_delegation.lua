-- fits_delegation(ctx, own, person, one): whether this delegation of a person holds now, and for this change.
local function fits_delegation(ctx, own, person, one)
  return holds_now(ctx, own, one.fields) and matches(ctx, own, delegations_of(ctx, person))[one.at]
end
