/* Made by coefficients/generate.py, which says how; not to be edited. */
/* clang-format off */
#ifndef HM_COEFFICIENTS_H
#define HM_COEFFICIENTS_H

#include <stdint.h>

/* ln 2: the first part times any |n| < 4096 is exact */
static const double ln2_parts[2] = {
    0x1.62e42fefa4000p-1, -0x1.8432a1b0e2634p-43,
};

/* ln 2 once more, to 147 bits */
static const double ln2_three[3] = {
    0x1.62e42fefa4000p-1, -0x1.8432a1b0e2000p-43, -0x1.8cff81a12a17ep-85,
};

/* pi/2 */
static const double half_pi_parts[3] = {
    0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110,
};

/* 2/3 */
static const double two_thirds_parts[2] = {
    0x1.5555555555555p-1, 0x1.5555555555555p-55,
};

/* 1/sqrt(2 pi) */
static const double root_two_pi_inverse[2] = {
    0x1.9884533d43651p-2, -0x1.cbc0d30ebfd15p-56,
};

/* 64 zeros, then the binary digits of 2/pi after the point: enough for every double */
static const uint64_t two_over_pi[21] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
    0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
    0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
    0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
    0xf0cfbc209af4361d,
};

/* (e^r - 1 - r) / r^2 in r
 * [-0.34657, 0.34657], error 2^-57.9 of the function */
static const double exp_q[10] = {
    0x1.000000000000ap-1, 0x1.5555555555505p-3, 0x1.55555555506c1p-5, 0x1.11111111251f7p-7,
    0x1.6c16c184753ccp-10, 0x1.a01a0137d176dp-13, 0x1.a01999652713bp-16, 0x1.71df086ab3738p-19,
    0x1.28adf633aee13p-22, 0x1.adabb3e7c8a9bp-26,
};

/* (log((1+s)/(1-s)) - 2s) / s^3 in s^2
 * [0.0, 0.029437], error 2^-59.49 of the function */
static const double log_r[7] = {
    0x1.5555555555592p-1, 0x1.999999997ff70p-2, 0x1.24924941da24cp-2, 0x1.c71c521b3e050p-3,
    0x1.74663b5fcea85p-3, 0x1.39a212f449a67p-3, 0x1.2f0204537a55bp-3,
};

/* (log((1+s)/(1-s)) - 2s) / s^3 in s^2, for log(1 + e) with s = e/(2 + e), 0 <= e <= 1
 * [0.0, 0.11111], error 2^-59.39 of the function */
static const double softplus_r[10] = {
    0x1.5555555555535p-1, 0x1.99999999a0768p-2, 0x1.249249208b634p-2, 0x1.c71c741cebc77p-3,
    0x1.745cb3f14cac3p-3, 0x1.3b1ddc711d7f2p-3, 0x1.1067bbaa35923p-3, 0x1.efd8a30959553p-4,
    0x1.55b0a373aad05p-4, 0x1.5c784c8822c14p-3,
};

/* ((log((1+s)/(1-s)) - 2s) / s^3 - 2/3) / s^2 in s^2
 * [0.0, 0.029437], error 2^-66.28 of the function */
static const double pow_r[7] = {
    0x1.9999999999b31p-2, 0x1.2492492457c00p-2, 0x1.c71c722d7d996p-3, 0x1.745ce9dd32934p-3,
    0x1.3b1eece87edf6p-3, 0x1.0f7fd9e8571c6p-3, 0x1.0e431caf56f82p-3,
};

/* (sin r - r) / r^3 in r^2
 * [0.0, 0.61685], error 2^-58.01 of the function */
static const double sin_s[6] = {
    -0x1.5555555555549p-3, 0x1.111111110f8a8p-7, -0x1.a01a019c16709p-13, 0x1.71de357b6e739p-19,
    -0x1.ae5e68e167248p-26, 0x1.5d93b7b497715p-33,
};

/* (cos r - 1 + r^2/2) / r^4 in r^2
 * [0.0, 0.61685], error 2^-64.18 of the function */
static const double cos_c[6] = {
    0x1.555555555554cp-5, -0x1.6c16c16c15223p-10, 0x1.a01a019cbff9fp-16, -0x1.27e4f81337b76p-22,
    0x1.1ee9f1b1c2858p-29, -0x1.8fb16439909ffp-37,
};

/* e^(x^2) erfc(x) (1 + 1.125 x) at q = 0, in two parts */
static const double erfcx_constant[2] = {
    0x1.90f66b8dddbe9p-1, 0x1.3ff889685acebp-61,
};

/* e^(x^2) erfc(x) (1 + 1.125 x), less its value at q = 0, over q; q = (x - c)/(x + c), c = 3.0
 * [-1.0, 0.80645], error 2^-57.22 of the function */
static const double erfcx_p[23] = {
    -0x1.c08a70d2e2777p-3, 0x1.4a89da3ff4f77p-4, 0x1.db1d709432fd5p-8, -0x1.24c33f077c0b7p-5,
    0x1.c6ae6c9e69bc5p-6, -0x1.78ef9019c1b41p-7, 0x1.c624de99fb2d7p-10, 0x1.a40bb8104c851p-11,
    -0x1.b733e89cc1bb5p-12, -0x1.051e533022a84p-15, 0x1.0f8bb62669fafp-14, -0x1.7afe8384b378dp-21,
    -0x1.5c372eafc6b5dp-17, 0x1.22ef66629a613p-23, 0x1.e8cfe92f481aap-20, 0x1.ab0ccbe53c71ap-24,
    -0x1.607ecb39eba59p-22, -0x1.00ba92c0f284ap-24, 0x1.b932157d11372p-25, 0x1.44aea55deaaf9p-26,
    -0x1.1eef2f80a0fc0p-28, -0x1.a39b007588e49p-29, -0x1.96cde9669121bp-32,
};

/* e^(x^2/2) Phi(-x) (1 + 0.796875 x) at q = 0, in two parts */
static const double normal_constant[2] = {
    0x1.9166ed5ab4fb7p-2, -0x1.859763ca32053p-56,
};

/* e^(x^2/2) Phi(-x) (1 + 0.796875 x), less its value at q = 0, over q; q = (x - c)/(x + c), c = 4.25
 * [-1.0, 0.80791], error 2^-56.06 of the function */
static const double normal_p[22] = {
    -0x1.bfdfc55c910d5p-4, 0x1.4a38d4bbad939p-5, 0x1.dbb5c803272c2p-9, -0x1.2574f7b472bd9p-6,
    0x1.c936ae73a743ep-7, -0x1.7d70422bcbba5p-8, 0x1.d7d93213730dfp-11, 0x1.9df84c53e81a8p-12,
    -0x1.be1ab21647ebdp-13, -0x1.cb51d7e9a81fbp-17, 0x1.1121159aa971ap-15, -0x1.8005dfe866db4p-21,
    -0x1.5c76b3bdc9332p-18, 0x1.28772e9a0d39ep-23, 0x1.e91e0f02dab7fp-21, 0x1.24603304d07fep-25,
    -0x1.625b787406069p-23, -0x1.afd1667291fdep-26, 0x1.c4f00a4613481p-26, 0x1.07cc693824426p-27,
    -0x1.655a36daec127p-29, -0x1.301f873b1e593p-30,
};

/* erf(c + t), c = 25/64 k: row 0 + (row 1 + t (row 2 + t (row 3 + ...))), column k
 * |t| <= 25/128, error 2^-56.03 of the function */
static const double erf_rows[16][16] = {
    {
         0x0.0p+0, 0x1.ad68966569a87p-2, 0x1.762870f720c6fp-1, 0x1.ce1962c0e0d8bp-1,
        0x1.f21c9f12f0677p-1, 0x1.fd0f5317f582fp-1, 0x1.ff87b1913e853p-1, 0x1.fff18ebe2b0e1p-1,
        0x1.fffeb3ebb267bp-1, 0x1.ffffe9bf4098cp-1, 0x1.fffffee3cc32cp-1, 0x1.fffffff57632dp-1,
        0x1.ffffffffb5be5p-1, 0x1.fffffffffe7c0p-1, 0x1.fffffffffffa2p-1, 0x1.fffffffffffffp-1,
    },
    {
         0x0.0p+0, -0x1.be29b0c63c263p-56, 0x1.118a1b821cf7cp-55, 0x1.18d61bf7e554bp-55,
        -0x1.7efe429672266p-58, -0x1.c8821e4d91d38p-55, -0x1.3ca99c8d2cea5p-56, -0x1.9834155e7a96bp-57,
        0x1.e47f697047cbap-57, -0x1.4c976a857e98dp-55, 0x1.e429188c25b27p-56, 0x1.933c09746690ep-59,
        -0x1.729d6819c7f34p-56, -0x1.b5336a8a00d3cp-57, 0x1.d07509a1a9433p-57, -0x1.a4702e8f38ceap-58,
    },
    {
         0x1.20dd750429b6dp+0, 0x1.eff8c4b1375dbp-1, 0x1.39ccc1b136d5ap-1, 0x1.24a55399ea239p-2,
        0x1.92470a61b6965p-4, 0x1.978ae8b55ce1bp-6, 0x1.30499b503957fp-8, 0x1.4ee1429bf7cc0p-11,
        0x1.0f9e1b4dd36e0p-14, 0x1.44ba864670881p-18, 0x1.1e1e857adc552p-22, 0x1.7397c5a66e300p-27,
        0x1.63ac6b4edcbf6p-32, 0x1.f5cc77180a6edp-38, 0x1.04e15ecc84e21p-43, 0x1.8fd4e018b266ap-50,
    },
    {
         0x1.8de43886a4236p-46, -0x1.837a59aa73409p-2, -0x1.ea4feea4e5ae6p-2, -0x1.56f1bdf85e61bp-2,
        -0x1.3a47801c56a50p-3, -0x1.8dfda7411cb51p-5, -0x1.649642020334dp-7, -0x1.c9d7f9113cc26p-10,
        -0x1.a8670aa99a515p-13, -0x1.1d67f003e911ep-16, -0x1.1769ce59fba45p-20, -0x1.8f2c0951c56dfp-25,
        -0x1.a0ce0dc049bf6p-30, -0x1.3e864998462a9p-35, -0x1.64ac1f999dffbp-41, -0x1.24d86a1d0adf1p-47,
    },
    {
         -0x1.812746b04efc9p-2, -0x1.cb7bf78e2dd28p-3, 0x1.715e59534354ap-5, 0x1.54c0d66d776ccp-3,
        0x1.0453f90d3bd7fp-3, 0x1.c24b2053e3384p-5, 0x1.fa73d7eb1b730p-7, 0x1.85661421616d8p-9,
        0x1.a3737e2a2f18dp-12, 0x1.40ee07ac5046ap-15, 0x1.5fe5d475613f9p-19, 0x1.161fb53919f77p-23,
        0x1.3e380dd74b50dp-28, 0x1.085b8661697adp-33, 0x1.3fa83029724d5p-39, 0x1.19d11ff61e382p-45,
    },
    {
         0x1.14ce7a27c8935p-31, 0x1.5c0fc7760ea85p-3, 0x1.22cdbdb4cf6bdp-3, 0x1.cf82bac1b274cp-7,
        -0x1.8a7c6a2396a0bp-5, -0x1.33137b26e0fc4p-5, -0x1.daa3005c2a156p-7, -0x1.c812e602ca44fp-9,
        -0x1.24544f02d7df1p-11, -0x1.02488b68b4bfep-14, -0x1.405da0483a688p-18, -0x1.1a2239f454643p-22,
        -0x1.638bc50324e1dp-27, -0x1.4256995242f28p-32, -0x1.a62b7106c1dc2p-38, -0x1.909da7fbe4e8cp-44,
    },
    {
         0x1.ce2f1afd7edc3p-4, 0x1.4dd7b2cdd561ep-5, -0x1.da50ae54a8420p-5, -0x1.cf38b99964141p-5,
        -0x1.075c08805241ap-7, 0x1.a342ba0e7bdecp-7, 0x1.250942c3122f5p-7, 0x1.7e02d8bc34193p-9,
        0x1.2e7e763d3df05p-11, 0x1.3b124fb17e8fdp-14, 0x1.bfc96a926e6c1p-18, 0x1.bb32ded21084ep-22,
        0x1.35753ad879a0dp-26, 0x1.338c4998151c1p-31, 0x1.b5c619754d3d1p-37, 0x1.c055de1fc0bb2p-43,
    },
    {
         0x1.81059bd1480d4p-21, -0x1.9ebc1ddeff83bp-5, -0x1.75578f4c3bfbfp-6, 0x1.2c1727065c7aep-6,
        0x1.16f9c9c7d4c8ap-6, 0x1.b4bbc4f087e76p-10, -0x1.997578d1cf005p-9, -0x1.c522939575081p-10,
        -0x1.da496e4c696d7p-12, -0x1.2c595044f6844p-14, -0x1.f19ff60bd9853p-18, -0x1.17c6eecd7781bp-21,
        -0x1.b41f311923512p-26, -0x1.dd9c477c49b30p-31, -0x1.72de1d4948008p-36, -0x1.9b1e787a1cb8cp-42,
    },
    {
         -0x1.b8644182f51a0p-6, -0x1.0997779e865e7p-8, 0x1.35331b69efa0bp-6, 0x1.e06b8477e8f34p-8,
        -0x1.74c2fc90aeca9p-8, -0x1.04937e80736cap-8, -0x1.3903dbbaa0858p-15, 0x1.583413acf94e9p-11,
        0x1.176cf65a40c18p-12, 0x1.c5586b3697164p-15, 0x1.c0c4db855b5d8p-18, 0x1.22b6eec43218cp-21,
        0x1.fe694c828798fp-26, 0x1.35de34c455e91p-30, 0x1.07aeb4f2ee011p-35, 0x1.3d71330b849a1p-41,
    },
    {
         0x1.4fa5e5964500dp-13, 0x1.7074854e26fe7p-7, 0x1.39c832cc393d3p-10, -0x1.8df7e796e0285p-8,
        -0x1.760c74c1ddf27p-10, 0x1.9f5a287a78e96p-10, 0x1.6a6d8a5aba3f7p-11, -0x1.48c1d7542591ap-14,
        -0x1.d2ac74fafb3f3p-14, -0x1.0dba1d9d44b1ep-15, -0x1.4b9deb35d4129p-18, -0x1.f8ad9fd77bda7p-22,
        -0x1.f8afd3439c764p-26, -0x1.56387c1de5f42p-30, -0x1.40c7b13a16b2cp-35, -0x1.a4fc7ef55806cp-41,
    },
    {
         0x1.017df0d90dde9p-8, -0x1.8a6234cefc298p-13, -0x1.fc371ecbc0e71p-9, 0x1.471d8224cb2e6p-13,
        0x1.a3cdb4e996b92p-10, 0x1.665689af9b615p-14, -0x1.71ebcd9bb80bap-12, -0x1.4fa98f49cf98fp-14,
        0x1.aafde2d9f250cp-16, 0x1.ea4b98836d579p-17, 0x1.9133d455643a6p-19, 0x1.70d7637417533p-22,
        0x1.aa778e30fab7cp-26, 0x1.45ee874e73792p-30, 0x1.528f8780d6109p-35, 0x1.e66c8aef3e658p-41,
    },
    {
         0x1.c5ab588fa1f39p-8, -0x1.040e93a458af0p-9, 0x1.9bf6984fb1508p-12, 0x1.116886ee56e2dp-10,
        -0x1.02ad91f8bd171p-12, -0x1.4a6069e7c902ap-12, 0x1.642da52f4f7ffp-15, 0x1.e412b536edeacp-15,
        0x1.0407b2f8d1c00p-18, -0x1.31e82c4af7560p-18, -0x1.8717765e296adp-20, -0x1.c6759fbfbd379p-23,
        -0x1.35f6a508fe89ap-26, -0x1.0df1eb27f0041p-30, -0x1.38c79d376ef8bp-35, -0x1.edf10d7866795p-41,
    },
    {
         -0x1.8e94ae7ecdda0p-6, 0x1.679752909d81ep-13, 0x1.2f623651f1befp-11, -0x1.03ae9f8c32574p-12,
        -0x1.928d06cf313bfp-13, 0x1.9a8f2abfe8cc7p-14, 0x1.4c7f469abd1d4p-15, -0x1.058f44fe1f9eap-16,
        -0x1.ab4228346170dp-18, 0x1.18703fe142807p-21, 0x1.24ec7334bc29ap-21, 0x1.d4be60b392b6dp-24,
        0x1.84e3dba520729p-27, 0x1.87fa844da572ep-31, 0x1.ff80123d393cbp-36, 0x1.bef3fa68c06cbp-41,
    },
    {
         0x1.76a0a2d07aa68p-5, 0x1.2abb626c8c848p-12, -0x1.1419909a65052p-13, -0x1.c9291b14c6a17p-14,
        0x1.678d8b3788517p-14, 0x1.10e5f90cfad42p-16, -0x1.6b0470771dd6dp-16, -0x1.d774c9127a10dp-20,
        0x1.6b1391507658fp-19, 0x1.a9a77a6a1c3b8p-22, -0x1.1c3bba00b6f5cp-23, -0x1.8f7a0ff1b2d83p-25,
        -0x1.ada862afc6ed5p-28, -0x1.0344a934a9b57p-31, -0x1.8690b4904ec9bp-36, -0x1.81c46eac3990bp-41,
    },
    {
         -0x1.3e6667cc9327ap-5, -0x1.47aa89119a7a2p-15, -0x1.10c968605341bp-14, 0x1.bf513fc7f51bcp-15,
        0x1.a5f03294789e8p-18, -0x1.33ccc72e17ebep-16, 0x1.23d6728452bb2p-19, 0x1.82e5ad4267a77p-19,
        -0x1.a8a3258033d59p-22, -0x1.2f92064610235p-22, 0x1.5f91a9f7c0561p-29, 0x1.02dcb14b9f532p-26,
        0x1.88dd7e61605a1p-29, 0x1.210a80d4f889ep-32, 0x1.f74ce33f8cc77p-37, 0x1.1754f272789afp-41,
    },
    {
         0x0.0p+0, 0x0.0p+0, 0x0.0p+0, 0x0.0p+0, 0x0.0p+0, 0x0.0p+0, 0x0.0p+0, 0x0.0p+0, 0x0.0p+0,
        0x0.0p+0, 0x0.0p+0, 0x0.0p+0, 0x0.0p+0, 0x0.0p+0, 0x0.0p+0, 0x0.0p+0,
    },
};

/* The same, a row a centre: for processors that load a centre's numbers sooner than they pick them. */
static const double erf_columns[16][16] = {
    {
         0x0.0p+0, 0x0.0p+0, 0x1.20dd750429b6dp+0, 0x1.8de43886a4236p-46, -0x1.812746b04efc9p-2,
        0x1.14ce7a27c8935p-31, 0x1.ce2f1afd7edc3p-4, 0x1.81059bd1480d4p-21, -0x1.b8644182f51a0p-6,
        0x1.4fa5e5964500dp-13, 0x1.017df0d90dde9p-8, 0x1.c5ab588fa1f39p-8, -0x1.8e94ae7ecdda0p-6,
        0x1.76a0a2d07aa68p-5, -0x1.3e6667cc9327ap-5, 0x0.0p+0,
    },
    {
         0x1.ad68966569a87p-2, -0x1.be29b0c63c263p-56, 0x1.eff8c4b1375dbp-1, -0x1.837a59aa73409p-2,
        -0x1.cb7bf78e2dd28p-3, 0x1.5c0fc7760ea85p-3, 0x1.4dd7b2cdd561ep-5, -0x1.9ebc1ddeff83bp-5,
        -0x1.0997779e865e7p-8, 0x1.7074854e26fe7p-7, -0x1.8a6234cefc298p-13, -0x1.040e93a458af0p-9,
        0x1.679752909d81ep-13, 0x1.2abb626c8c848p-12, -0x1.47aa89119a7a2p-15, 0x0.0p+0,
    },
    {
         0x1.762870f720c6fp-1, 0x1.118a1b821cf7cp-55, 0x1.39ccc1b136d5ap-1, -0x1.ea4feea4e5ae6p-2,
        0x1.715e59534354ap-5, 0x1.22cdbdb4cf6bdp-3, -0x1.da50ae54a8420p-5, -0x1.75578f4c3bfbfp-6,
        0x1.35331b69efa0bp-6, 0x1.39c832cc393d3p-10, -0x1.fc371ecbc0e71p-9, 0x1.9bf6984fb1508p-12,
        0x1.2f623651f1befp-11, -0x1.1419909a65052p-13, -0x1.10c968605341bp-14, 0x0.0p+0,
    },
    {
         0x1.ce1962c0e0d8bp-1, 0x1.18d61bf7e554bp-55, 0x1.24a55399ea239p-2, -0x1.56f1bdf85e61bp-2,
        0x1.54c0d66d776ccp-3, 0x1.cf82bac1b274cp-7, -0x1.cf38b99964141p-5, 0x1.2c1727065c7aep-6,
        0x1.e06b8477e8f34p-8, -0x1.8df7e796e0285p-8, 0x1.471d8224cb2e6p-13, 0x1.116886ee56e2dp-10,
        -0x1.03ae9f8c32574p-12, -0x1.c9291b14c6a17p-14, 0x1.bf513fc7f51bcp-15, 0x0.0p+0,
    },
    {
         0x1.f21c9f12f0677p-1, -0x1.7efe429672266p-58, 0x1.92470a61b6965p-4, -0x1.3a47801c56a50p-3,
        0x1.0453f90d3bd7fp-3, -0x1.8a7c6a2396a0bp-5, -0x1.075c08805241ap-7, 0x1.16f9c9c7d4c8ap-6,
        -0x1.74c2fc90aeca9p-8, -0x1.760c74c1ddf27p-10, 0x1.a3cdb4e996b92p-10, -0x1.02ad91f8bd171p-12,
        -0x1.928d06cf313bfp-13, 0x1.678d8b3788517p-14, 0x1.a5f03294789e8p-18, 0x0.0p+0,
    },
    {
         0x1.fd0f5317f582fp-1, -0x1.c8821e4d91d38p-55, 0x1.978ae8b55ce1bp-6, -0x1.8dfda7411cb51p-5,
        0x1.c24b2053e3384p-5, -0x1.33137b26e0fc4p-5, 0x1.a342ba0e7bdecp-7, 0x1.b4bbc4f087e76p-10,
        -0x1.04937e80736cap-8, 0x1.9f5a287a78e96p-10, 0x1.665689af9b615p-14, -0x1.4a6069e7c902ap-12,
        0x1.9a8f2abfe8cc7p-14, 0x1.10e5f90cfad42p-16, -0x1.33ccc72e17ebep-16, 0x0.0p+0,
    },
    {
         0x1.ff87b1913e853p-1, -0x1.3ca99c8d2cea5p-56, 0x1.30499b503957fp-8, -0x1.649642020334dp-7,
        0x1.fa73d7eb1b730p-7, -0x1.daa3005c2a156p-7, 0x1.250942c3122f5p-7, -0x1.997578d1cf005p-9,
        -0x1.3903dbbaa0858p-15, 0x1.6a6d8a5aba3f7p-11, -0x1.71ebcd9bb80bap-12, 0x1.642da52f4f7ffp-15,
        0x1.4c7f469abd1d4p-15, -0x1.6b0470771dd6dp-16, 0x1.23d6728452bb2p-19, 0x0.0p+0,
    },
    {
         0x1.fff18ebe2b0e1p-1, -0x1.9834155e7a96bp-57, 0x1.4ee1429bf7cc0p-11, -0x1.c9d7f9113cc26p-10,
        0x1.85661421616d8p-9, -0x1.c812e602ca44fp-9, 0x1.7e02d8bc34193p-9, -0x1.c522939575081p-10,
        0x1.583413acf94e9p-11, -0x1.48c1d7542591ap-14, -0x1.4fa98f49cf98fp-14, 0x1.e412b536edeacp-15,
        -0x1.058f44fe1f9eap-16, -0x1.d774c9127a10dp-20, 0x1.82e5ad4267a77p-19, 0x0.0p+0,
    },
    {
         0x1.fffeb3ebb267bp-1, 0x1.e47f697047cbap-57, 0x1.0f9e1b4dd36e0p-14, -0x1.a8670aa99a515p-13,
        0x1.a3737e2a2f18dp-12, -0x1.24544f02d7df1p-11, 0x1.2e7e763d3df05p-11, -0x1.da496e4c696d7p-12,
        0x1.176cf65a40c18p-12, -0x1.d2ac74fafb3f3p-14, 0x1.aafde2d9f250cp-16, 0x1.0407b2f8d1c00p-18,
        -0x1.ab4228346170dp-18, 0x1.6b1391507658fp-19, -0x1.a8a3258033d59p-22, 0x0.0p+0,
    },
    {
         0x1.ffffe9bf4098cp-1, -0x1.4c976a857e98dp-55, 0x1.44ba864670881p-18, -0x1.1d67f003e911ep-16,
        0x1.40ee07ac5046ap-15, -0x1.02488b68b4bfep-14, 0x1.3b124fb17e8fdp-14, -0x1.2c595044f6844p-14,
        0x1.c5586b3697164p-15, -0x1.0dba1d9d44b1ep-15, 0x1.ea4b98836d579p-17, -0x1.31e82c4af7560p-18,
        0x1.18703fe142807p-21, 0x1.a9a77a6a1c3b8p-22, -0x1.2f92064610235p-22, 0x0.0p+0,
    },
    {
         0x1.fffffee3cc32cp-1, 0x1.e429188c25b27p-56, 0x1.1e1e857adc552p-22, -0x1.1769ce59fba45p-20,
        0x1.5fe5d475613f9p-19, -0x1.405da0483a688p-18, 0x1.bfc96a926e6c1p-18, -0x1.f19ff60bd9853p-18,
        0x1.c0c4db855b5d8p-18, -0x1.4b9deb35d4129p-18, 0x1.9133d455643a6p-19, -0x1.8717765e296adp-20,
        0x1.24ec7334bc29ap-21, -0x1.1c3bba00b6f5cp-23, 0x1.5f91a9f7c0561p-29, 0x0.0p+0,
    },
    {
         0x1.fffffff57632dp-1, 0x1.933c09746690ep-59, 0x1.7397c5a66e300p-27, -0x1.8f2c0951c56dfp-25,
        0x1.161fb53919f77p-23, -0x1.1a2239f454643p-22, 0x1.bb32ded21084ep-22, -0x1.17c6eecd7781bp-21,
        0x1.22b6eec43218cp-21, -0x1.f8ad9fd77bda7p-22, 0x1.70d7637417533p-22, -0x1.c6759fbfbd379p-23,
        0x1.d4be60b392b6dp-24, -0x1.8f7a0ff1b2d83p-25, 0x1.02dcb14b9f532p-26, 0x0.0p+0,
    },
    {
         0x1.ffffffffb5be5p-1, -0x1.729d6819c7f34p-56, 0x1.63ac6b4edcbf6p-32, -0x1.a0ce0dc049bf6p-30,
        0x1.3e380dd74b50dp-28, -0x1.638bc50324e1dp-27, 0x1.35753ad879a0dp-26, -0x1.b41f311923512p-26,
        0x1.fe694c828798fp-26, -0x1.f8afd3439c764p-26, 0x1.aa778e30fab7cp-26, -0x1.35f6a508fe89ap-26,
        0x1.84e3dba520729p-27, -0x1.ada862afc6ed5p-28, 0x1.88dd7e61605a1p-29, 0x0.0p+0,
    },
    {
         0x1.fffffffffe7c0p-1, -0x1.b5336a8a00d3cp-57, 0x1.f5cc77180a6edp-38, -0x1.3e864998462a9p-35,
        0x1.085b8661697adp-33, -0x1.4256995242f28p-32, 0x1.338c4998151c1p-31, -0x1.dd9c477c49b30p-31,
        0x1.35de34c455e91p-30, -0x1.56387c1de5f42p-30, 0x1.45ee874e73792p-30, -0x1.0df1eb27f0041p-30,
        0x1.87fa844da572ep-31, -0x1.0344a934a9b57p-31, 0x1.210a80d4f889ep-32, 0x0.0p+0,
    },
    {
         0x1.fffffffffffa2p-1, 0x1.d07509a1a9433p-57, 0x1.04e15ecc84e21p-43, -0x1.64ac1f999dffbp-41,
        0x1.3fa83029724d5p-39, -0x1.a62b7106c1dc2p-38, 0x1.b5c619754d3d1p-37, -0x1.72de1d4948008p-36,
        0x1.07aeb4f2ee011p-35, -0x1.40c7b13a16b2cp-35, 0x1.528f8780d6109p-35, -0x1.38c79d376ef8bp-35,
        0x1.ff80123d393cbp-36, -0x1.8690b4904ec9bp-36, 0x1.f74ce33f8cc77p-37, 0x0.0p+0,
    },
    {
         0x1.fffffffffffffp-1, -0x1.a4702e8f38ceap-58, 0x1.8fd4e018b266ap-50, -0x1.24d86a1d0adf1p-47,
        0x1.19d11ff61e382p-45, -0x1.909da7fbe4e8cp-44, 0x1.c055de1fc0bb2p-43, -0x1.9b1e787a1cb8cp-42,
        0x1.3d71330b849a1p-41, -0x1.a4fc7ef55806cp-41, 0x1.e66c8aef3e658p-41, -0x1.edf10d7866795p-41,
        0x1.bef3fa68c06cbp-41, -0x1.81c46eac3990bp-41, 0x1.1754f272789afp-41, 0x0.0p+0,
    },
};

#endif
