-- refuse_hidden(field, name): the error if the name of a person or a group has a character that nobody sees: it would look like another name,
-- and be another voter. Or nil.
local function refuse_hidden(field, name)
  if not string.find(name, '[\194-\244]') then return nil end
  local forms = {  -- U+00AD 034F 061C 070F, 115F-1160, 17B4-17B5, 180B-180F, 200B-200F and 202A-202E, 2060-206F, 2800, 3164, FE00-FE0F, FEFF, FFA0
    '\194\173', '\205\143', '\216\156', '\220\143', '\225\133[\159\160]', '\225\158[\180\181]', '\225\160[\139-\143]', '\226\128[\139-\143\170-\174]',
    '\226\129[\160-\175]', '\226\160\128', '\227\133\164', '\239\184[\128-\143]', '\239\187\191', '\239\190\160',
    '\239\191[\176-\187]', '\240\147\144[\176-\191]', '\240\150\191\164', '\240\155\178[\160-\163]',  -- FFF0-FFFB, 13430-1343F, 16FE4, 1BCA0-1BCA3
    '\240\157\133\153', '\240\157\133[\179-\186]', '\243\160',  -- 1D159, 1D173-1D17A, E0000-E0FFF
  }
  for _, form in ipairs(forms) do  -- at most 21: forms
    if string.find(name, form) then return refuse(field, name, 'a name without invisible characters, such as U+00AD or U+200B') end
  end
end
